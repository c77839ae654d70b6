//! A headless Chromium, driven by WebDriver.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Browser {
    driver: Child,
    session: String,
}

const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

impl Browser {
    pub fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed (Debian: chromium-driver)");
        // It first says that it starts “on port 0”, then which one it got.
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.by_ref().find_map(|l| l.rsplit_once("on port ")?.1.trim_end_matches('.').parse::<u16>().ok().filter(|p| *p != 0));
        let port = port.expect("chromedriver says its port");
        // What it says later must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        let options = json!({ "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,1000", "--autoplay-policy=no-user-gesture-required"] });
        let made = post(
            &format!("http://127.0.0.1:{port}/session"),
            &json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } }),
        );
        let session = format!("http://127.0.0.1:{port}/session/{}", made["sessionId"].as_str().unwrap());
        Self { driver, session }
    }

    pub fn open(&self, url: &str) {
        post(&format!("{}/url", self.session), &json!({ "url": url }));
    }

    pub fn click(&self, css: &str) {
        let found = post(&format!("{}/element", self.session), &json!({ "using": "css selector", "value": css }));
        let id = found[ELEMENT].as_str().unwrap_or_else(|| panic!("no element {css}: {found}"));
        post(&format!("{}/element/{id}/click", self.session), &json!({}));
    }

    pub fn run(&self, script: &str) -> Value {
        post(&format!("{}/execute/sync", self.session), &json!({ "script": script, "args": [] }))
    }

    /// Runs a script until `ok` likes its result.
    pub fn wait(&self, what: &str, script: &str, ok: &dyn Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let v = self.run(script);
            if ok(&v) {
                return v;
            }
            assert!(Instant::now() < deadline, "{what} did not come: {v}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// The page as PNG, base64.
    pub fn screenshot(&self) -> String {
        let mut r = ureq::get(format!("{}/screenshot", self.session)).call().unwrap();
        let v: Value = serde_json::from_str(&r.body_mut().read_to_string().unwrap()).unwrap();
        v["value"].as_str().unwrap().to_owned()
    }
}

fn post(url: &str, body: &Value) -> Value {
    let mut r =
        ureq::post(url).config().http_status_as_error(false).build().content_type("application/json").send(body.to_string()).unwrap();
    let v: Value = serde_json::from_str(&r.body_mut().read_to_string().unwrap()).unwrap();
    assert!(r.status().is_success(), "{url}: {v}");
    v["value"].clone()
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = ureq::delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

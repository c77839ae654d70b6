"""A bridge for the plug-ins' tests: takes messages as docs/bridge.md has them, and can fail on purpose."""

import http.server
import json
import os
import threading
import time
import urllib.parse


class FakeBridge:
    def __init__(self, path, wants_final=False, offset_ns=0):
        self.path = path
        self.token = os.urandom(8).hex()
        self.wants_final = wants_final
        self.origin_ns = time.monotonic_ns() + offset_ns
        self.hellos, self.trips, self.events, self.files, self.byes = [], [], [], [], []
        self.acknowledged = 0
        self.answer_lost = 0
        self.changed = threading.Condition()
        bridge = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                self.answer(200, {"t_ns": time.monotonic_ns() - bridge.origin_ns})

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.headers.get("Authorization") != "Bearer " + bridge.token:
                    return self.answer(401, {"error": "wrong token"})
                url = urllib.parse.urlsplit(self.path)
                with bridge.changed:
                    answer = bridge.take(url.path, dict(urllib.parse.parse_qsl(url.query)), body)
                    lost = bridge.answer_lost > 0 and url.path in ("/v1/events", "/v1/file")
                    bridge.answer_lost -= lost
                    bridge.changed.notify_all()
                if lost:
                    # Stored, but the plug-in never hears of it.
                    self.close_connection = True
                    return None
                return self.answer(200, answer)

            def answer(self, status, value):
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.publish()

    def publish(self, closing=False):
        url = "http://127.0.0.1:%d" % self.server.server_address[1]
        with open(self.path + ".new", "w") as f:
            json.dump({"protocol": 1, "url": url, "token": self.token, "pid": os.getpid(), "closing": closing}, f)
        os.replace(self.path + ".new", self.path)

    def take(self, path, query, body):
        if path == "/v1/file":
            if int(query["seq"]) > self.acknowledged:
                self.acknowledged = int(query["seq"])
                self.files.append((query, body))
            return {"acknowledged": self.acknowledged}
        message = json.loads(body)
        if path == "/v1/hello":
            self.hellos.append(message)
            return {"protocol": 1, "acknowledged": self.acknowledged, "render_interval_ms": 200, "wants_states": True, "wants_final": self.wants_final}
        if path == "/v1/clock":
            self.trips.append(message["round_trips"])
        elif path == "/v1/events":
            for e in message["events"]:
                if e["seq"] > self.acknowledged:
                    self.acknowledged = e["seq"]
                    self.events.append(e)
            return {"acknowledged": self.acknowledged}
        elif path == "/v1/bye":
            self.byes.append(message["client"])
        return {}

    def wait(self, what, seconds=20):
        with self.changed:
            if not self.changed.wait_for(what, seconds):
                raise AssertionError("it did not come: %r" % (self.__dict__,))

    def stop(self, keep_file=False):
        if not keep_file:
            try:
                os.remove(self.path)
            except FileNotFoundError:
                pass
        self.server.shutdown()
        self.server.server_close()

"""Talks to Redline's bridge: finds it, maps the clock, sends numbered events until they are acknowledged.

Used inside CAD programs, so: standard library only, no exception ever reaches the host, nothing blocks its main thread.
The messages are described in docs/bridge.md.
"""

import collections
import http.client
import json
import os
import tempfile
import threading
import time
import urllib.parse
import uuid

PROTOCOL = 1
SEND_EVERY_S = 0.1
LOOK_EVERY_S = 0.5
CLOCK_EVERY_S = 20.0
ROUND_TRIPS = 12
MAX_BATCH = 200
MAX_BUFFERED = 20_000
TIMEOUT_S = 5.0


def discovery_path():
    """Where the bridge publishes its address; the same rule as in the recorder."""
    given = os.environ.get("REDLINE_BRIDGE")
    if given:
        return given
    home = os.environ.get("HOME")
    candidates = [os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("XDG_CACHE_HOME"), home and os.path.join(home, ".cache")]
    base = next((c for c in candidates if c), tempfile.gettempdir())
    return os.path.join(base, "redline", "bridge.json")


class Refused(Exception):
    """The bridge answered, but not with success."""

    def __init__(self, status, message):
        super().__init__("%s %s" % (status, message))
        self.status = status


class Client:
    """One CAD program's side of the bridge. Thread-safe; `event` and `file` return at once."""

    def __init__(self, program, program_version, path=None, now_ns=time.monotonic_ns, log=None):
        self._program = program
        self._version = program_version
        self._path = path or discovery_path()
        self._now = now_ns
        self._log = log or (lambda text: None)
        self._name = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._queue = collections.deque()
        self._seq = 0
        self._lost = 0
        self._document = None
        self._address = None
        self._synced = 0.0
        self._wake = threading.Event()
        self._stopped = False
        self._complained = None
        self.render_interval_s = 1.0
        self.wants_states = True
        self.on_session = None
        self._thread = threading.Thread(target=self._run, name="redline", daemon=True)

    def start(self):
        self._thread.start()
        return self

    def stop(self, timeout=2.0):
        """Sends what is left, for `timeout` seconds at most."""
        self._stopped = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def active(self):
        """Whether a session is being recorded."""
        return self._address is not None

    def set_document(self, name):
        self._document = name

    def event(self, type_, **fields):
        """Queues an event that happens now; its running number, or None while nothing is recorded."""
        return self._push({"client_ns": self._now(), "type": type_, **fields}, None)

    def file(self, kind, extension, data, client_ns=None, after_command=None):
        """Queues a file (`render`, `state` or `final`) that was true at `client_ns`."""
        meta = {"client_ns": self._now() if client_ns is None else client_ns, "kind": kind, "ext": extension}
        if after_command is not None:
            meta["after_command"] = after_command
        return self._push(meta, bytes(data))

    def _push(self, entry, data):
        with self._lock:
            if self._address is None:
                return None
            if len(self._queue) >= MAX_BUFFERED:
                self._lost += 1
                return None
            if self._lost:
                self._seq += 1
                self._queue.append(({"seq": self._seq, "client_ns": self._now(), "type": "lost", "count": self._lost}, None))
                self._lost = 0
            self._seq += 1
            entry["seq"] = self._seq
            self._queue.append((entry, data))
            return self._seq

    def _run(self):
        while not self._stopped:
            try:
                self._work()
                self._complained = None
            except (OSError, http.client.HTTPException, ValueError, Refused) as e:
                if str(e) != self._complained:
                    self._complained = str(e)
                    self._log("Redline: %s" % e)
                if isinstance(e, Refused) and e.status == 401:
                    self._forget()
            self._wake.wait(SEND_EVERY_S if self._address else LOOK_EVERY_S)
        try:
            if self._address:
                self._send_all()
        except (OSError, http.client.HTTPException, ValueError, Refused):
            pass

    def _forget(self):
        with self._lock:
            self._address = None
            self._queue.clear()

    def _work(self):
        address = self._read_address()
        if address is None:
            if self._address is not None:
                # The recorder has stopped properly: it took all that it wanted.
                self._forget()
            return
        if self._address is None or address["token"] != self._address["token"]:
            self._begin(address)
        elif time.monotonic() - self._synced > CLOCK_EVERY_S:
            self._sync(address)
        self._send_all()

    def _read_address(self):
        try:
            with open(self._path, "rb") as f:
                address = json.loads(f.read(65536))
        except FileNotFoundError:
            return None
        if not isinstance(address, dict) or not str(address.get("url", "")).startswith("http://127.0.0.1:"):
            raise ValueError("%s: not a bridge address" % self._path)
        return address

    def _begin(self, address):
        hello = {"protocol": PROTOCOL, "client": self._name, "program": self._program, "program_version": self._version}
        if self._document:
            hello["document"] = self._document
        welcome = self._call(address, "POST", "/v1/hello", hello)
        self.render_interval_s = max(0.05, welcome.get("render_interval_ms", 1000) / 1000)
        self.wants_states = bool(welcome.get("wants_states", True))
        self._sync(address)
        with self._lock:
            self._queue.clear()
            self._seq = max(self._seq, int(welcome.get("acknowledged", 0)))
            self._address = address
        if self.on_session:
            self.on_session()

    def _sync(self, address):
        trips = []
        for _ in range(ROUND_TRIPS):
            sent = self._now()
            t_ns = self._call(address, "GET", "/v1/clock")["t_ns"]
            trips.append({"sent_client_ns": sent, "t_ns": t_ns, "received_client_ns": self._now()})
        self._call(address, "POST", "/v1/clock", {"client": self._name, "round_trips": trips})
        self._synced = time.monotonic()

    def _send_all(self):
        while True:
            with self._lock:
                if not self._queue or self._address is None:
                    return
                head, data = self._queue[0]
                batch = []
                if data is None:
                    for entry, d in self._queue:
                        if d is not None or len(batch) >= MAX_BATCH:
                            break
                        batch.append(entry)
                address = self._address
            if data is None:
                answer = self._call(address, "POST", "/v1/events", {"client": self._name, "events": batch})
            else:
                query = urllib.parse.urlencode({"client": self._name, **head})
                answer = self._call(address, "POST", "/v1/file?" + query, data)
            done = int(answer["acknowledged"])
            with self._lock:
                while self._queue and self._queue[0][0]["seq"] <= done:
                    self._queue.popleft()

    def _call(self, address, method, path, body=None):
        host = urllib.parse.urlsplit(address["url"]).netloc
        connection = http.client.HTTPConnection(host, timeout=TIMEOUT_S)
        try:
            headers = {"Authorization": "Bearer " + address["token"]}
            if isinstance(body, dict):
                body = json.dumps(body).encode()
                headers["Content-Type"] = "application/json"
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status >= 300:
            try:
                text = json.loads(text)["error"]
            except (ValueError, KeyError, TypeError):
                text = response.reason
            raise Refused(response.status, text)
        return json.loads(text) if text else {}

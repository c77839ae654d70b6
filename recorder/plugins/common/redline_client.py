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
GATHER_S = 0.02
LOOK_EVERY_S = 0.25
PING_EVERY_S = 0.5
CLOCK_EVERY_S = 20.0
ROUND_TRIPS = 12
MAX_BATCH = 200
MAX_BUFFERED = 20_000
MAX_BEFORE = 1000
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
        # What happened while no session was known: its beginning is noticed a moment late.
        self._before = collections.deque(maxlen=MAX_BEFORE)
        self._seq = 0
        self._lost = 0
        self._document = None
        self._address = None
        self._offset = None
        self._synced = 0.0
        self._pinged = 0.0
        self._closing = False
        self._done = False
        self._wake = threading.Event()
        self._stopped = False
        self._complained = None
        self.render_interval_s = 1.0
        self.wants_states = True
        self.wants_final = False
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

    @property
    def closing(self):
        """Whether the session ends and the host should send its final model (if wanted) and call `goodbye`."""
        return self._closing and not self._done

    def goodbye(self):
        """Nothing more will come for this session; what is queued is still sent."""
        self._done = True
        self._wake.set()

    def set_document(self, name):
        self._document = name

    def event(self, type_, client_ns=None, **fields):
        """Queues an event of now, or of `client_ns`; its running number, or None while nothing is recorded."""
        return self._push({"client_ns": self._now() if client_ns is None else client_ns, "type": type_, **fields}, None)

    def file(self, kind, extension, data, client_ns=None, after_command=None):
        """Queues a file (`render`, `state` or `final`) that was true at `client_ns`."""
        meta = {"client_ns": self._now() if client_ns is None else client_ns, "kind": kind, "ext": extension}
        if after_command is not None:
            meta["after_command"] = after_command
        return self._push(meta, bytes(data))

    def _push(self, entry, data):
        with self._lock:
            if self._address is None:
                if data is None:
                    self._before.append(entry)
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
            seq = self._seq
        self._wake.set()
        return seq

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
            if self._wake.wait(SEND_EVERY_S if self._address else LOOK_EVERY_S) and not self._stopped:
                # A drag over the model gives many events: a few in each message.
                time.sleep(GATHER_S)
            self._wake.clear()
        try:
            if self._address:
                self._send_all()
        except (OSError, http.client.HTTPException, ValueError, Refused):
            pass

    def _forget(self):
        with self._lock:
            self._address = None
            # Kept in case they belong to a session that has begun already; older ones are sorted out by their time.
            self._before.extend(entry for entry, data in self._queue if data is None)
            self._queue.clear()
            self._closing = False
            self._done = False

    def _work(self):
        address = self._read_address()
        if address is None:
            if self._address is not None:
                # The recorder is gone: it took all that it wanted, or it died.
                self._forget()
            return
        closing = bool(address.get("closing"))
        if self._address is None or address["token"] != self._address["token"]:
            if closing:
                return
            self._forget()
            self._begin(address)
        elif closing:
            self._close(address)
        elif time.monotonic() - self._synced > CLOCK_EVERY_S:
            self._sync(address, ROUND_TRIPS)
        self._send_all()
        if self._closing and self._done:
            with self._lock:
                empty = not self._queue
            if empty:
                self._call(address, "POST", "/v1/bye", {"client": self._name})
                self._forget()

    def _close(self, address):
        if not self._closing:
            self._sync(address, ROUND_TRIPS)
            self._closing = True
            self._done = self._done or not self.wants_final
            self._pinged = time.monotonic()
        elif time.monotonic() - self._pinged > PING_EVERY_S:
            # The host is busy with its model: tell the recorder that it lives.
            self._pinged = time.monotonic()
            self._sync(address, 1)

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
        self.wants_final = bool(welcome.get("wants_final", False))
        self._sync(address, ROUND_TRIPS)
        with self._lock:
            self._queue.clear()
            self._seq = max(self._seq, int(welcome.get("acknowledged", 0)))
            for entry in self._before:
                if entry["client_ns"] + self._offset >= 0:
                    self._seq += 1
                    self._queue.append(({**entry, "seq": self._seq}, None))
            self._before.clear()
            self._address = address
        if self.on_session:
            self.on_session()

    def _sync(self, address, count):
        trips = []
        for _ in range(count):
            sent = self._now()
            t_ns = self._call(address, "GET", "/v1/clock")["t_ns"]
            trips.append({"sent_client_ns": sent, "t_ns": t_ns, "received_client_ns": self._now()})
        self._call(address, "POST", "/v1/clock", {"client": self._name, "round_trips": trips})
        best = min(trips, key=lambda t: t["received_client_ns"] - t["sent_client_ns"])
        self._offset = best["t_ns"] - (best["sent_client_ns"] + best["received_client_ns"]) // 2
        if count > 1:
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

"""The client module against a bridge that loses answers, dies and comes back."""

import os
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "common")]

import redline_client  # noqa: E402
from fake_bridge import FakeBridge  # noqa: E402


def names(bridge):
    return [e.get("name") for e in bridge.events]


class ClientTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self._folder.name, "bridge.json")
        self.client = redline_client.Client("Test", "1", path=self.path)
        self.bridges = []

    def tearDown(self):
        self.client.stop()
        for b in self.bridges:
            b.stop()
        self._folder.cleanup()

    def bridge(self, **options):
        self.bridges.append(FakeBridge(self.path, **options))
        return self.bridges[-1]

    def wait_until(self, what):
        until = time.monotonic() + 20
        while not what():
            self.assertLess(time.monotonic(), until, "it did not come")
            time.sleep(0.005)

    def joined(self, **options):
        bridge = self.bridge(**options)
        self.client.start()
        self.wait_until(lambda: self.client.active)
        return bridge

    def test_events_come_once_and_in_order_with_a_clock(self):
        self.client.set_document("part")
        b = self.joined()
        for i in range(500):
            self.client.event("command", kind="started", name=str(i))
        b.wait(lambda: len(b.events) == 500)
        self.assertEqual(names(b), [str(i) for i in range(500)])
        self.assertEqual([e["seq"] for e in b.events], list(range(1, 501)))
        self.assertEqual((b.hellos[0]["protocol"], b.hellos[0]["document"]), (1, "part"))
        self.assertGreaterEqual(len(b.trips[0]), 8)
        self.assertTrue(all(t["sent_client_ns"] <= t["received_client_ns"] for t in b.trips[0]))

    def test_an_answer_that_is_lost_doubles_nothing(self):
        b = self.joined()
        b.answer_lost = 2
        self.client.event("command", kind="started", name="a")
        self.client.file("render", "png", b"123", after_command=1)
        self.client.event("command", kind="ended", name="a")
        b.wait(lambda: len(b.events) == 2 and len(b.files) == 1)
        self.assertEqual([e["seq"] for e in b.events], [1, 3])
        query, body = b.files[0]
        self.assertEqual((query["kind"], query["ext"], query["seq"], query["after_command"], body), ("render", "png", "2", "1", b"123"))

    def test_what_happens_before_the_session_is_noticed_is_not_lost_and_what_was_before_it_is_not_sent(self):
        # The session's clock begins 50 ms ago; the client learns of it only now.
        self.client.event("command", kind="started", name="long before", client_ns=time.monotonic_ns() - 5_000_000_000)
        self.client.event("command", kind="started", name="just before", client_ns=time.monotonic_ns() - 100_000_000)
        b = self.bridge(offset_ns=-50_000_000)
        self.client.event("command", kind="started", name="in time")
        self.client.start()
        b.wait(lambda: b.events)
        self.client.event("command", kind="started", name="later")
        b.wait(lambda: len(b.events) == 2)
        self.assertEqual(names(b), ["in time", "later"])

    def test_a_recorder_that_died_is_followed_by_the_next_session(self):
        b = self.joined()
        self.client.event("command", kind="started", name="a")
        b.wait(lambda: b.events)
        b.stop(keep_file=True)
        self.client.event("command", kind="started", name="into the void")
        time.sleep(0.05)
        b2 = self.bridge()
        self.wait_until(lambda: len(b2.hellos) == 1 and self.client.active)
        self.client.event("command", kind="started", name="b")
        b2.wait(lambda: "b" in names(b2))
        self.assertEqual(names(b2), ["b"])
        self.assertEqual(b2.hellos[0]["client"], b.hellos[0]["client"])

    def test_the_end_brings_what_is_left_and_a_goodbye(self):
        b = self.joined()
        self.client.event("command", kind="started", name="a")
        b.publish(closing=True)
        b.wait(lambda: b.byes)
        self.assertEqual((names(b), b.byes), (["a"], [b.hellos[0]["client"]]))
        self.wait_until(lambda: not self.client.active)
        self.client.event("command", kind="started", name="after")
        self.assertEqual(len(b.hellos), 1, "a session that ends is not joined again")

    def test_the_final_model_comes_before_the_goodbye(self):
        b = self.joined(wants_final=True)
        b.publish(closing=True)
        self.wait_until(lambda: self.client.closing)
        self.client.file("final", "step", b"ISO")
        self.client.goodbye()
        b.wait(lambda: b.byes)
        self.assertEqual([(q["kind"], body) for q, body in b.files], [("final", b"ISO")])

    def test_a_full_buffer_says_how_much_it_dropped(self):
        b = self.joined()
        many, redline_client.MAX_BUFFERED = redline_client.MAX_BUFFERED, 3
        try:
            with self.client._lock:
                self.client._queue.extend(({"seq": 0, "client_ns": 0}, None) for _ in range(3))
            for _ in range(5):
                self.assertIsNone(self.client.event("command", kind="started", name="x"))
        finally:
            redline_client.MAX_BUFFERED = many
        with self.client._lock:
            self.client._queue.clear()
        self.client.event("command", kind="started", name="y")
        b.wait(lambda: len(b.events) == 2)
        self.assertEqual((b.events[0]["type"], b.events[0]["count"]), ("lost", 5))
        self.assertEqual(b.events[1]["name"], "y")

    def test_a_file_that_is_no_address_is_reported_once_and_harms_nothing(self):
        said = []
        self.client._log = said.append
        for text in ["", "[]", '{"url": "http://example.org:80", "token": "x"}']:
            with open(self.path, "w") as f:
                f.write(text)
        self.client.start()
        self.wait_until(lambda: said)
        self.assertFalse(self.client.active)
        b = self.bridge()
        self.wait_until(lambda: self.client.active)
        self.assertEqual(len(b.hellos), 1)


if __name__ == "__main__":
    unittest.main()

"""http.client and urllib3: custom connection classes, and existing connections."""

import http.client
import json
import socket

import pytest
import urllib3

from tests.testing.intercept.counting_bank import FROM_BANK, FROM_SANDBOX, HOST, CountingBank
from xs2a_sandbox.features.pytest.sandbox import Sandbox


class Further(urllib3.connection.HTTPConnection):
    """Connects with the inherited method, and then continues."""

    def connect(self) -> None:
        super().connect()
        self.source_address = ("went", 1)


class Whole(urllib3.connection.HTTPSConnection):
    """Connects without the inherited method."""

    def connect(self) -> None:
        self.sock = socket.create_connection((self.host, self.port))


class Plain(http.client.HTTPConnection):
    """Connects without the inherited method, and without urllib3."""

    def connect(self) -> None:
        self.sock = socket.create_connection((self.host, self.port))


def read(connection: http.client.HTTPConnection) -> object:
    connection.request("GET", "/mine")
    return json.loads(connection.getresponse().read())


@pytest.mark.parametrize("connections", [Further, Whole])
def test_custom_connection_classes_are_answered(
    connections: type[urllib3.connection.HTTPConnection], bank: CountingBank, xs2a: Sandbox
) -> None:
    pools = urllib3.HTTPSConnectionPool if connections is Whole else urllib3.HTTPConnectionPool
    pool = type("Pool", (pools,), {"ConnectionCls": connections})(HOST, bank.port)
    with xs2a.intercept():
        assert pool.request("GET", "/mine", retries=False).json() == FROM_SANDBOX
        connection = pool._get_conn()
        assert (connection.source_address == ("went", 1)) == (connections is Further)
    assert bank.connections == 0


def test_a_custom_connection_class_without_urllib3_is_answered(bank: CountingBank, xs2a: Sandbox) -> None:
    connection = Plain(HOST, bank.port)
    assert read(connection) == FROM_BANK
    with xs2a.intercept():
        assert read(connection) == FROM_SANDBOX
        assert read(connection) == FROM_SANDBOX
        assert bank.connections == 1
        assert read(Plain("127.0.0.1", bank.port)) == FROM_BANK
    with pytest.raises(http.client.RemoteDisconnected):
        read(connection)  # as with any bank that has closed the connection
    assert read(connection) == FROM_BANK
    assert bank.connections == 3


def test_an_existing_pool_of_urllib3_is_answered_by_the_current_interception(bank: CountingBank, xs2a: Sandbox) -> None:
    url = f"http://{HOST}:{bank.port}/mine"
    with urllib3.PoolManager() as pool:
        assert pool.request("GET", url).json() == FROM_BANK
        with xs2a.intercept():
            assert pool.request("GET", url).json() == FROM_SANDBOX
        assert pool.request("GET", url).json() == FROM_BANK
    assert bank.connections == 2

"""A place of a board farm that labgrid's coordinator manages, reached over SSH.

``LG_COORDINATOR``, ``LG_HOSTNAME`` and ``LG_USERNAME`` mean what they mean to ``labgrid-client``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from attrs import frozen

from deadbeat.model.errors import TargetError, UnreachableError, UsageError
from deadbeat.model.words import nearest, shown
from deadbeat.targets.local import HostKeeper
from deadbeat.targets.ssh import SshTarget
from deadbeat.targets.ssh_connection import plain

_T = TypeVar("_T")
_PREFIX = "labgrid:"
_SERVICE = "NetworkService"
#: Patience with the coordinator, s.
_PATIENCE_S = 20.0
#: Run where deadbeat was killed, with the words of `Coordinator.release_command`.
_RELEASE = 'exec "$0" "$@" >/dev/null 2>&1'


@frozen(kw_only=True)
class Lease:
    """A place that is held.

    Attributes:
        place: Its name.
        service: ``ssh://user@host:port`` of its NetworkService.
        ours: Whether it was taken now; what the user held before stays held.
    """

    place: str
    service: str
    ours: bool


class Coordinator:
    """labgrid's own, at ``LG_COORDINATOR``.
    Raises UsageError: the package labgrid is not installed."""

    def __init__(self) -> None:
        hook = sys.excepthook
        try:
            from labgrid.remote import client  # noqa: PLC0415  optional, and slow to import
        except ImportError as error:
            raise UsageError(
                "--target labgrid:PLACE needs the package labgrid",
                "pip install 'deadbeat[labgrid]', or -e '.[labgrid]' in the clone",
            ) from error
        finally:
            sys.excepthook = hook  # the module takes it
        self._client: Any = client
        self._address = os.environ.get("LG_COORDINATOR", "127.0.0.1:20408")
        self._owner = ""

    def acquire(self, place: str) -> Lease:
        """Takes ``place``. TargetError: another user has it, or it is of no use."""
        return self._with_session(lambda session: self._acquire(session, place))

    def release(self, place: str) -> None:
        """Gives ``place`` back; does nothing where another user has it."""
        self._with_session(lambda session: self._release(session, place))

    def release_command(self, place: str) -> tuple[str, ...]:
        """A command of this host that does as `release`."""
        words = (f"--coordinator={self._address}", f"--place={place}", "release-from", self._owner)
        return (sys.executable, "-m", "labgrid.remote.client", *words)

    async def _acquire(self, session: Any, place: str) -> Lease:
        known = session.places.get(place)
        if known is None:
            raise UsageError(
                f"labgrid's coordinator at {self._address} has no place {shown(place)}",
                nearest(place, map(plain, session.places)) if session.places else "it has none",
            )
        self._owner = f"{session.gethostname()}/{session.getuser()}"
        ours = not known.acquired
        if not ours and known.acquired != self._owner:
            raise TargetError(
                f"place {shown(place)} is held by {plain(known.acquired)}",
                f"wait for them, or ask them for: labgrid-client -p {plain(place)} release",
            )
        messages = self._client.labgrid_coordinator_pb2
        if ours:
            await session.stub.AcquirePlace(messages.AcquirePlaceRequest(placename=place))
            await session.sync_with_coordinator()
        try:
            return Lease(place=place, service=_service(session, known, place), ours=ours)
        except TargetError:
            if ours:
                await self._release(session, place)
            raise

    async def _release(self, session: Any, place: str) -> None:
        messages = self._client.labgrid_coordinator_pb2
        request = messages.ReleasePlaceRequest(placename=place, fromuser=self._owner)
        await session.stub.ReleasePlace(request)

    def _with_session(self, act: Callable[[Any], Awaitable[_T]]) -> _T:
        """What ``act`` gives in a session with the coordinator."""
        try:
            given: _T = asyncio.run(asyncio.wait_for(self._session(act), _PATIENCE_S))
        except ValueError as error:
            why = f"LG_COORDINATOR={shown(self._address)}: {plain(str(error))}"
            raise UsageError(why, "write HOST:PORT") from error
        except (self._client.Error, self._client.grpc.RpcError, TimeoutError, OSError) as error:
            details = error.details() if isinstance(error, self._client.grpc.RpcError) else ""
            raise UnreachableError(
                f"labgrid's coordinator at {self._address}:"
                f" {plain(details or str(error)) or 'no answer'}",
                "is it on? LG_COORDINATOR names another: HOST:PORT",
            ) from error
        return given

    async def _session(self, act: Callable[[Any], Awaitable[Any]]) -> Any:
        proxies = self._client.proxymanager
        address = proxies.get_grpc_address(self._address, default_port=20408)
        logging.disable(logging.CRITICAL)  # what it says is in the error, too
        session = self._client.ClientSession(address, asyncio.get_running_loop())
        try:
            await session.start()
            return await act(session)
        finally:
            session.stopping.set()
            await session.stop()
            await session.close()
            logging.disable(logging.NOTSET)


def _service(session: Any, known: Any, place: str) -> str:
    """The address of the place's only NetworkService."""
    found = [
        entry for (_, cls), entry in session.get_target_resources(known).items() if cls == _SERVICE
    ]
    if len(found) != 1:
        raise TargetError(
            f"place {shown(place)} has {len(found) or 'no'} {_SERVICE}, and one is needed",
            f"labgrid-client -p {plain(place)} show lists its resources",
        )
    extra, given = found[0].extra, found[0].params
    host, user = str(given.get("address", "")), str(given.get("username", ""))
    if extra.get("proxy_required"):
        raise TargetError(
            f"the {_SERVICE} of place {shown(place)} is reached through its exporter alone",
            "give the board an address, or write ProxyJump for it in ~/.ssh/config and use ssh://",
        )
    host = f"[{host}]" if ":" in host else host
    return f"ssh://{user}@{host}:{given.get('port', 22)}"


class LabgridTarget(SshTarget):
    """``labgrid:PLACE``; acquired until it is closed, or deadbeat is killed.

    Raises:
        UsageError: There is no such place, or no labgrid.
        TargetError: Another user has it, or its machine cannot be connected to.
    """

    def __init__(self, word: str, *, farm: Coordinator | None = None) -> None:
        place = word.removeprefix(_PREFIX)
        if not word.startswith(_PREFIX) or not place or not place.isprintable():
            raise UsageError(f"{shown(word)} names no place", f"write {_PREFIX}PLACE")
        self._farm = farm or Coordinator()
        self._keeper: HostKeeper | None = None
        self._lease: Lease | None = self._farm.acquire(place)
        try:
            if self._lease.ours:
                self._keeper = HostKeeper(_RELEASE, *self._farm.release_command(place))
            super().__init__(self._lease.service)
        except BaseException:
            with suppress(TargetError):
                self._give_back()
            raise
        self.name, self.address = place, word

    def close(self) -> None:
        """Close as over SSH; then release the place. TargetError: It could not be released."""
        try:
            super().close()
        finally:
            self._give_back()

    def _give_back(self) -> None:
        lease, self._lease = self._lease, None
        if lease is None or not lease.ours:
            return
        self._farm.release(lease.place)
        if self._keeper is not None:
            self._keeper.call_off()

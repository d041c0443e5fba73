"""The delivery of callbacks in a run of `serve`."""

from urllib.parse import urlsplit

from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.engine import Engine
from xs2a_sandbox.features.callbacks.delivery import Delivery
from xs2a_sandbox.state import RemoteStore


class RunCallbacks(RunPart):
    """Delivers callbacks from the moment when the ports are open."""

    def open(self, engine: Engine, base_url: str, run: str) -> None:
        page = engine.parts.front_page
        urls = (page.addresses.proxy, page.addresses.direct, page.addresses.tls) if page else (base_url,)
        engine.parts.egress.keep_from({port for url in urls if url and (port := urlsplit(url).port)})
        shares_state = self.settings.workers > 1 or isinstance(engine.store, RemoteStore)
        delivery = Delivery(lambda: engine, shares_state=shares_state)
        engine.use(on_answer=delivery.on_answer)
        delivery.begin()

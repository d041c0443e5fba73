from xs2a_sandbox.doors.mitmproxy_addon import from_environment

# `mitmdump -s addons/xs2a.py`; settings come from xs2a-sandbox.yaml and from XS2A_SANDBOX_… variables.
addons = [from_environment()]

"""The HTTP service: models under names, requests as UDPipe's REST service takes them, replies."""

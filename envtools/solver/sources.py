"""Where the files of channels are taken from."""

import urllib.parse

import rattler
from rattler import networking

import contract


class Sources:
    """Where the channels' files are taken from: rattler and its cache know a channel by its URL alone, and what opens
    that URL, or a mirror of it, is put in as a request is made."""

    def __init__(self, request):
        self.access = request.get("access", {})
        self.urls = {channel["url"]: [channel["url"], *channel.get("mirrors", [])] for channel in request["channels"]}

    def client(self):
        mirrors, self.headers = {}, []
        for channel, urls in self.urls.items():
            url, headers = contract.opened(urls[0], self.access)
            if url != channel:
                mirrors[channel] = [url]
            if headers:
                place = urllib.parse.urlsplit(url)
                self.headers.append((place.hostname, place.path.rstrip("/") + "/", headers))
        parts = [networking.RetryMiddleware(3)]
        if mirrors:
            parts.append(networking.MirrorMiddleware(mirrors))
        if self.headers:
            parts.append(networking.AddHeadersMiddleware(self._headers_for))
        parts += [networking.AuthenticationMiddleware(), networking.OciMiddleware(), networking.GCSMiddleware(),
                  networking.S3Middleware()]
        return rattler.Client(parts, user_agent="pinstep")

    def _headers_for(self, host, path):
        fitting = [(len(base), headers) for of, base, headers in self.headers if of == host and path.startswith(base)]
        return max(fitting, key=lambda each: each[0])[1] if fitting else None

    def try_next(self, text):
        """Whether the channel that a failure names has another mirror."""
        for channel, urls in self.urls.items():
            if len(urls) > 1 and self.is_about(channel, text):
                del urls[0]
                return True
        return False

    def is_about(self, channel, text):
        """Whether a failure names a channel, or where it is taken from."""
        return any(url in text for url in (channel, contract.opened(self.urls[channel][0], self.access)[0]))

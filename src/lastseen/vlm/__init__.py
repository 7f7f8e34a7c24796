"""Vision-language models behind one call, ``complete(prompt, images, schema) -> text``, with one file per backend.

A model proposes and the system verifies: what ``complete`` returns is text from outside, and the caller parses it
strictly. Backends load on first use, so that a search without a model pays for none. Test your own code with those of
``lastseen.vlm.mock``, which need no model.
"""

from lastseen.vlm.protocol import Backend, EncodedImage, backend_names, check_answer, open_backend, register_backend

__all__ = ["Backend", "EncodedImage", "backend_names", "check_answer", "open_backend", "register_backend"]

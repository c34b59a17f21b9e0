"""A file that is dropped on the page, as a person drops it."""

from base64 import b64encode

from playwright.sync_api import JSHandle, Page

_HELD = """([name, text]) => {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const dropped = new DataTransfer();
  dropped.items.add(new File([bytes], name));
  return dropped;
}"""


def held(page: Page, name: str, content: bytes) -> JSHandle:
    """What an event carries while the file is held over the page."""
    return page.evaluate_handle(_HELD, [name, b64encode(content).decode()])


def drop(page: Page, name: str, content: bytes) -> None:
    page.dispatch_event("body", "drop", {"dataTransfer": held(page, name, content)})

"""Views of blocks in a real browser: a model, two beside each other, what uses a block."""

from playwright.sync_api import expect

# The codes of the blocks of one side; or of the blocks that stand only there.
CODES = """(rows, side) => [...rows.querySelectorAll(".card, .gap")]
  .filter((cell, at) => at % 2 === side && cell.matches(".card"))
  .map((cell) => cell.href.split("block=")[1])"""
ALONE = CODES.replace('(".card")', '(".card.alone") && cell.innerText.endsWith("· only here")')


def test_a_block_opens_and_says_who_uses_it(visit):
    page = visit("model/timm%3Adeep")
    page.wait_for_selector(".block")
    repeated = page.locator(".block:has(.times)")
    repeated.first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".opened svg")
    page.get_by_text("Used by").click()
    page.wait_for_selector(".families li")
    assert "timm:deep" in page.locator(".hits").inner_text()


def test_a_family_of_users_is_shown_alone(visit, motif):
    page = visit(f"users/{motif}")
    names = page.locator(".hits tbody th")
    expect(names).to_have_count(3)
    page.get_by_role("button", name="resnet").click()
    expect(names).to_have_text(["timm:deep"])
    page.get_by_role("button", name="family").click()
    expect(names).to_have_text(["timm:a", "timm:b"])
    page.get_by_role("button", name="family").click()
    expect(names).to_have_count(3)


def test_users_that_cannot_be_had_are_told(visit, motif):
    page = visit(f"users/{motif}")
    page.locator(".families").wait_for()
    page.route("**/page/users", lambda route: route.abort())
    page.get_by_role("button", name="resnet").click()
    expect(page.locator(".error")).to_contain_text("The server does not answer")


def test_the_block_stands_beside_its_users(visit, motif):
    page = visit(f"users/{motif}?from=timm%3Adeep")
    page.locator(".opened svg").wait_for()
    assert motif in page.locator(".opened").inner_text()
    tops = [page.locator(part).bounding_box()["y"] for part in (".opened", ".families", ".hits")]
    assert tops[1:] == [tops[0]] * 2
    page.get_by_role("link", name="timm:deep").first.click()
    page.wait_for_url(f"**/model/timm%3Adeep?block={motif}")
    page.wait_for_selector(".opened")


def test_two_models_are_compared(visit):
    page = visit("diff/timm%3Aa/timm%3Adeep")
    page.wait_for_selector(".aligned")
    assert page.locator(".card").count() >= 4
    assert "timm:deep" in page.locator(".numbers").inner_text()
    # Both have their first layers, and each has blocks that the other lacks.
    for side, other in ((0, 1), (1, 0)):
        codes, others = (set(page.locator(".aligned").evaluate(CODES, at)) for at in (side, other))
        only_here = set(page.locator(".aligned").evaluate(ALONE, side))
        assert only_here == codes - others
        assert 0 < len(only_here) < len(codes)
    page.get_by_role("button", name="Swap").click()
    page.wait_for_url("**/diff/timm%3Adeep/timm%3Aa")


def test_equal_networks_are_told(visit):
    page = visit("diff/timm%3Aa/timm%3Ab")
    assert "They are the same network" in page.locator(".verdict").inner_text()

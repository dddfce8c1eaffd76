"""The picture of the rooms shows those that there are, in the order that the imports have."""

import re
from itertools import pairwise

from test_layers import ROOMS

from benchmarks import rooms


def test_the_picture_is_in_step_with_the_code():
    """Draw it again by `python -m benchmarks.rooms`."""
    assert rooms.PICTURE.read_text() == rooms.svg()
    shown = re.findall(r'font-weight="bold" fill="[^"]*">(\w+)<', rooms.svg())
    assert sorted(shown) == sorted(set(ROOMS) - {"_version", "__init__", "__main__"})


def test_every_room_stands_below_all_that_it_uses():
    height = {room: y for room, (_, y) in rooms.places().items()}
    lower = [(room, other) for room, own in rooms.uses().items() for other in own]
    assert len(lower) > 50
    assert [pair for pair in lower if height[pair[0]] <= height[pair[1]]] == []


def test_boxes_lie_in_the_picture_beside_each_other():
    for row in rooms.rows():
        middles = [rooms.places()[room][0] for room in row]
        assert min(middles) >= rooms.BOX / 2
        assert max(middles) <= rooms.WIDTH - rooms.BOX / 2
        assert all(b - a >= rooms.BOX for a, b in pairwise(middles))


def test_the_arrows_lead_to_everything_that_is_used():
    for room in rooms.uses():
        led = set(rooms.needed(room)).union(*map(rooms.reach, rooms.needed(room)))
        assert led == rooms.reach(room)

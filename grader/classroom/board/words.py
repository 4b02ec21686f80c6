"""The words of pseudonyms: 128 adjectives and 128 nouns, in any combination.

None is a first name, a colour, or a word for somebody's looks.
"""

from __future__ import annotations

_ADJECTIVES = """
    able airy alert amiable apt artful astral balmy blithe bold brave breezy bright brisk
    calm candid careful caring cheerful cheery chipper civil classic clear clever coastal
    cosmic cosy courteous crisp curious dapper daring dashing deft diligent eager earnest
    elegant fabled fair faithful festive fleet fluent fresh friendly gallant generous genial
    gentle gifted glad gleaming gliding graceful grand grateful handy happy hardy helpful
    honest humble jaunty jolly jovial joyful jubilant keen kind lively loyal lucid lucky
    lunar mellow merry mighty mindful modest musical neat nimble noble patient peaceful
    playful plucky polite prompt quick quiet radiant ready regal robust royal rustic serene
    sincere smart snappy solar spirited spry stately steady stellar sterling sturdy subtle
    sunny swift tactful thankful thoughtful tidy tranquil trusty upbeat valiant vivid warm
    wise witty zesty zippy
"""

_NOUNS = """
    acorn alder almond anchor apricot aspen atlas aurora beacon birch breeze brook canvas
    canyon cedar cello cirrus clarinet clover comet compass coral cove creek crystal cypress
    dahlia delta dolphin dune echo ember falcon fern finch fjord flute fountain galaxy
    garden garnet gazelle geyser glacier glade grove guitar harbour harp heron hickory
    horizon island juniper kayak kestrel kingfisher kite lagoon lantern larch lark lilac
    linden lotus lynx magnet maple marble marigold meadow melody meteor mosaic mountain
    nebula oak oasis ocean olive opal orbit orchard orchid osprey otter panda pebble penguin
    peony piano pine planet plum poplar prairie prism puffin quartz quasar quill rainbow
    reef ridge river rocket saffron sapphire sequoia sonata sparrow spruce star stream
    summit sunrise thistle topaz trumpet tulip tundra valley violin walnut willow windmill
    wren zephyr
"""

ADJECTIVES = _ADJECTIVES.split()
NOUNS = _NOUNS.split()

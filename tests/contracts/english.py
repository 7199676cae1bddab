"""A few paragraphs of our own in English, for tests of the model that comes with arcwise."""

import random

TEXT = """
The old harbour had been closed for years when the first boats came back. Nobody in the village knew who had sent them, or why
they arrived at night. My grandmother, who remembered the war, told us to stay inside and to keep the lamps low. We did not listen.
From the window of the bakery I saw a man with a lantern walk slowly along the pier, and behind him two children carried a heavy box.
What was in it? I asked the baker the next morning, but he only shrugged and went on kneading the dough.

On Monday the teacher gave each of us a map of the coast and asked us to mark the places where ships could land. Anna said that the
caves under the lighthouse were too narrow, although her brother had once rowed through them in a storm. If the tide is low enough,
you can walk there on foot, he said. The teacher, surprised, wrote this down. Later she told the mayor, and the mayor called the
police in the city. They sent three officers, a dog and a very small boat.

I think that the story should have ended there. It did not. Because the boat leaked, the officers had to borrow ours, which my father
did not like at all. He had painted it green the week before and did not want scratches on it. "Bring it back before dinner," he
shouted, "or I will come and get it myself!" They nodded politely and rowed away in the wrong direction.

Two hours later the fog came in from the sea, thick and grey as wool. We heard the dog bark somewhere near the rocks, then nothing.
My mother put soup on the table and nobody ate. When the door finally opened, it was not the officers who came in but the man with the
lantern. His coat was wet and his hands were shaking. He asked for bread, sat down by the fire and began to talk about the box, the
children and the long way they had come from a country none of us could find on the map.

To be honest, most of what he said was hard to believe. He claimed to have crossed the mountains in winter with nothing but a sack of
onions and a broken violin. The violin, he explained, had belonged to his wife, whom he had left behind in the north to look after
the sheep. One of the children had fallen ill; the other refused to speak. The box contained books, seeds and a clock that had
stopped. Would we hide them until spring? My father looked at my mother, my mother looked at the soup, and I went to fetch more bowls.
"""


def random_english(size: int) -> str:
    """Sentences in random order, so that no two pieces have the same lengths."""
    sentences, rng = [line for line in TEXT.split(". ") if line], random.Random(1)
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(" ".join(rng.choice(sentences) + "." for _ in range(rng.randint(1, 9))) + "\n\n")
        length += len(parts[-1])
    return "".join(parts)

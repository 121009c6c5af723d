/** The answer to a question that the demo model does not understand. */
export const HELP =
  'I am a small demo model without a key, and I know only a few things. Ask me about the weather in a city, to search the code, to send a postcard, to pack a bag, to book a ferry, to change how this page looks, or for a long story. With TROUPE_MODEL a real model answers instead.'

/** A story that is long enough to stop it, or to reload the page in the middle. */
export const STORY = `Once a troupe of players travelled from town to town with one cart, one lamp and more parts than people.

In the first town the director fell ill, and nobody knew whose turn it was to speak. So they agreed on a rule: whoever has the word keeps it until they hand it over, and says to whom. It sounded stiff, but the audience could follow for the first time, and threw coins instead of cabbages.

In the second town it rained through the roof of the barn. The lamp went out in the middle of the second act. When it was lit again they did not begin anew, for the prompter had written down every line as it was spoken; they looked at the last one, and went on with the next.

In the third town the play called for a duel. The swordsman stopped, blade in the air, turned to the mayor in the front row and asked whether he might. The mayor thought about it overnight. In the morning he came back, said yes, but with wooden swords, and the duel was fought just there, from just that pose.

In the fourth town they played a play within the play. A small company came out of a box, investigated who had eaten the bread, bowed, and handed in a note with the answer. The big company read it aloud as if they had known all along.

And in the last town a child asked what the troupe was really made of. A kernel, said the oldest of them, and everything else can be exchanged. (So it goes in a demo model's story, at least.)`

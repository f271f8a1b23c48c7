import { expect, test } from 'vitest';
import { laneKey, senderOf } from './ids.ts';

test.each(['plain', 'a/b#c%d', '%2F', 'line\nbreak', 'half \ud83d pair', '%D83D', 'ü 🌱'])(
  'a lane tells the channel and account it is of: %j',
  (name) => {
    const lane = laneKey({ channel: name, account: `${name}!`, chatId: 'c/1', threadId: 't' });
    expect(senderOf(lane)).toEqual({ channel: name, account: `${name}!` });
  },
);

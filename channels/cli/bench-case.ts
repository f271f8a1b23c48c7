import type { BenchCase } from '../bench.ts';
import { lineToMessage } from './inbound.ts';
import { partToText } from './outbound.ts';

export const benchCase: BenchCase = {
  receive: (number) => () => lineToMessage(`message ${number}`, { channel: 'cli', run: 'run', number, now: Date.now() }),
  render: (text) => partToText({ key: 'k', channel: 'cli', account: 'local', chatId: 'local', ordinal: 0, count: 1, text }),
};

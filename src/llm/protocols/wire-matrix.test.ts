/** The scenarios of `wireContract` over all wires, as a matrix. A new wire is one entry in `WIRES`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Aimock, startAimock } from '../../testing/aimock.ts';
import { WireMatrix } from '../../testing/wire-matrix.ts';
import { anthropicSubject } from './anthropic-contract.ts';
import { geminiSubject } from './gemini-contract.ts';
import { openAiChatSubject } from './openai-chat-contract.ts';
import { openAiResponsesSubject } from './openai-responses-contract.ts';
import { WIRE_FIXTURES, WIRE_SCENARIOS, type WireSubject, wireContract } from './wire-contract.ts';

const WIRES: readonly WireSubject[] = [openAiChatSubject, openAiResponsesSubject, anthropicSubject, geminiSubject];

const matrix = new WireMatrix(WIRE_SCENARIOS);
let aimock: Aimock;
beforeAll(async () => {
  aimock = await startAimock({ fixtures: WIRE_FIXTURES });
});
afterAll(async () => {
  await aimock.stop();
  process.stdout.write(`\nwire x scenario\n${matrix}\n`);
});

describe.each(WIRES)('$name', (subject) => {
  wireContract(subject, () => aimock, matrix);
});

test('every cell of the matrix is green', () => {
  expect(matrix.missing()).toEqual([]);
});

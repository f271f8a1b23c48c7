import { describe, expect, it } from 'vitest';
import { toAnswers } from './answers.ts';
import { emptyVerdict, failed, hasLostOrRepeated, judge } from './judge.ts';
import type { RunRecord } from './run.ts';
import { tableRow } from './table.ts';

const EXPECTED = [['answer 1'], ['answer 2', 'its second part'], ['answer 3']];

function run(record: Partial<RunRecord>) {
  const verdict = emptyVerdict();
  const complete: RunRecord = {
    ...{ answers: EXPECTED, notOffered: [], stored: 3, toolRuns: new Map(), unknownParts: 0, unknownTools: 0, deadLetters: 0 },
    ...{ modelCalls: 3, points: 1, killed: 1, finished: true, leftRunning: [], log: '' },
    ...record,
  };
  return { faults: judge(complete, EXPECTED, 3, verdict), verdict };
}

describe('a message that is not offered again', () => {
  it('is counted, and not lost, when no journal has it', () => {
    const { faults, verdict } = run({ answers: [['answer 1'], [], ['answer 3']], notOffered: [1], stored: 2 });
    expect([faults, verdict.notOffered, verdict.lost]).toEqual([[], 1, 0]);
  });

  it('is lost when the journal has it and it is not answered', () => {
    const { faults, verdict } = run({ answers: [['answer 1'], [], ['answer 3']], notOffered: [1], stored: 3 });
    expect([faults.length, verdict.notOffered, verdict.lost]).toEqual([1, 0, 1]);
  });

  it('excuses no other message', () => {
    const { verdict } = run({ answers: [[], [], ['answer 3']], notOffered: [1], stored: 2 });
    expect([verdict.notOffered, verdict.lost]).toEqual([1, 1]);
  });

  it('is judged like any other when a part of its answer came', () => {
    const { verdict } = run({ answers: [['answer 1'], ['answer 2'], ['answer 3']], notOffered: [1], stored: 2 });
    expect([verdict.notOffered, verdict.lost]).toEqual([0, 1]);
  });

  it('leaves an UNKNOWN part to excuse a missing one', () => {
    const answers = [['answer 1'], [], []];
    const { faults, verdict } = run({ answers, notOffered: [1], stored: 2, unknownParts: 1 });
    expect([faults, verdict.notOffered, verdict.unknownMissing]).toEqual([[], 1, 1]);
  });
});

describe('answers to one person', () => {
  const lines = (...texts: string[]) => texts.map((text, at) => ({ person: 0, text, at }));

  it('belong to the question whose number they begin with, with the lines that follow', () => {
    const seen = lines('answer 2', 'more', 'answer 1', 'answer 2');
    expect(toAnswers(seen, ['plain 1', 'long 2'], 1)).toEqual([['answer 1'], ['answer 2\nmore', 'answer 2']]);
  });

  it('show what nobody asked for', () => {
    expect(toAnswers(lines('sorry', 'answer 1'), ['plain 1'], 1)).toEqual([['sorry', 'answer 1']]);
  });
});

it('an effect of a tool that is there twice, and a process that was left running, are faults', () => {
  const { faults, verdict } = run({ toolRuns: new Map([['shell 1', 2]]), leftRunning: ['17 1 S 9 sleep'] });
  expect(faults).toEqual(['1 processes are left running: 17 1 S 9 sleep', 'tool call shell 1 ran 2 times']);
  expect(verdict.toolsTwice).toBe(2);
});

it('a run that the last start did not bring to its end fails the sweep, and its row says so', () => {
  const { faults, verdict } = run({ finished: false });
  expect(faults).toEqual(['the last start did not bring everything to its end']);
  expect([verdict.unfinished, failed(verdict)]).toEqual([1, true]);
  expect(tableRow('telegram', 1, verdict)).toMatch(/^\| telegram \(1 unfinished\) \|/);
});

it('a known-bad design is not caught by a run that only did not end', () => {
  expect(hasLostOrRepeated(run({ finished: false }).verdict)).toBe(false);
  expect(hasLostOrRepeated(run({ paidTwice: ['waits 1:0'] }).verdict)).toBe(true);
});

it.each<[string, Partial<RunRecord>]>([
  ['a text that no question asked for', { answers: [['answer 1', 'oops'], ...EXPECTED.slice(1)] }],
  ['a part that arrived twice', { answers: [['answer 1', 'answer 1'], ...EXPECTED.slice(1)] }],
  ['a part that is missing', { answers: [[], ...EXPECTED.slice(1)] }],
  ['a model call that was made again', { paidTwice: ['waits 1:0'] }],
  ['a run without an end', { finished: false }],
  ['a process that is left running', { leftRunning: ['17 1 S 9 sleep'] }],
  ['a tool call that ran twice', { toolRuns: new Map([['1', 2]]) }],
])('%s is named and fails the sweep', (_what, record) => {
  const { faults, verdict } = run(record);
  expect([faults.length, failed(verdict)]).toEqual([1, true]);
});

it('a run as promised fails nothing', () => {
  const { faults, verdict } = run({});
  expect([faults, failed(verdict), tableRow('telegram', 1, verdict).split(' | ')[0]]).toEqual([[], false, '| telegram']);
});

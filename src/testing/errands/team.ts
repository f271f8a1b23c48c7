/** Work that is handed on: to sub-agents, to a task in the background, to the person who asked. */
import { call, type Errand } from './errand.ts';

/** What a sub-agent and a task answer here: the model of these errands is asked as theirs, too. */
export const HELPED = 'There are three of them.';

export const TEAM: readonly Errand[] = [
  {
    title: 'two sub-agents work side by side, and their results come in the order of the calls',
    say: 'Count the red and the blue ones',
    moves: [
      call('dispatch_subagent', { task_description: 'Count the red ones' }),
      call('spawn', { task: 'Count the blue ones', label: 'blue', mode: 'sync' }),
      'Three red, three blue.',
    ],
    begins: 2,
    check: ({ told, texts }) => {
      expectHelped(told);
      if (texts.at(-1) !== 'Three red, three blue.') throw new Error(`the answer is not there: ${texts.join(' | ')}`);
    },
  },
  {
    title: 'what takes long becomes a task, whose result is told by itself',
    say: 'Count all of them, and take your time',
    moves: [call('start_task', { task: 'Count all of them', title: 'count' }), 'I am at it.'],
    begins: 1,
    check: ({ told, texts }) => {
      if (!told[0]?.startsWith('Begun: task ')) throw new Error(`no task was begun: ${told[0]}`);
      const done = texts.find((text) => text.startsWith('✅ Task '));
      if (!done?.includes(HELPED)) throw new Error(`the result did not arrive: ${texts.join(' | ')}`);
    },
  },
  {
    title: 'the person is told something in between, without waiting for an answer',
    say: 'Tell me when you begin',
    moves: [call('ask_human', { question: 'I begin now.', wait_for_answer: false }), 'Done.'],
    check: ({ texts }) => {
      if (texts.join(' | ') !== 'I begin now. | Done.') throw new Error(`other words arrived: ${texts.join(' | ')}`);
    },
  },
];

function expectHelped(told: readonly string[]): void {
  if (told.length !== 2 || told.some((result) => !result.includes(HELPED))) throw new Error(`other results: ${told.join(' | ')}`);
}

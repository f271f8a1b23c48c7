import type { PromptPorts } from '../gateway/commands/command.ts';

/** Where no command is given. */
export const NO_COMMANDS: PromptPorts = {
  transcripts: { load: async () => [], title: async () => undefined },
  chats: { of: async () => undefined },
  buttons: () => 0,
  answer: () => [],
  mayChange: () => false,
  isOwner: () => false,
  mayShowThinking: () => false,
  statusLine: () => false,
  work: async () => ({ active: 0, parked: 0 }),
  modelLine: async () => '',
  router: () => undefined,
  toolSettings: { current: {}, change: async () => undefined },
  tasks: {
    plan: () => Promise.reject(new Error('no task in this test')),
    planResume: () => Promise.reject(new Error('no task in this test')),
    list: async () => [],
    show: () => Promise.reject(new Error('no task in this test')),
  },
  standing: async () => ({ authority: { principal: '', role: 'guest', mode: 'read-only', policies: [] }, taint: 0 }),
  queue: {
    of: async () => ({ mode: 'followup', from: 'the default', debounceMs: 0 }),
    configured: () => ({ mode: 'followup', from: 'the default' }),
    chosen: () => undefined,
  },
};

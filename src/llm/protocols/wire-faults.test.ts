import { describe } from 'vitest';
import { anthropicSubject } from './anthropic-contract.ts';
import { geminiSubject } from './gemini-contract.ts';
import { openAiChatSubject } from './openai-chat-contract.ts';
import { openAiResponsesSubject } from './openai-responses-contract.ts';
import { wireFaultContract } from './wire-fault-contract.ts';

describe.each([openAiChatSubject, openAiResponsesSubject, anthropicSubject, geminiSubject])('$name', (subject) => {
  wireFaultContract(subject);
});

import { z } from 'zod';
import { MODES } from '../../src/core/authority.ts';

const entries = z.array(z.string().min(1).max(200)).max(1_000);
const tags = z.array(z.string().min(1).max(100)).max(100);

const ALLOW =
  'Tools that may be used: a name, a beginning of names that ends in "*", or "group:NAME" (fs, search, chat, schedule …). Empty: all.';
const DENY = 'Tools that may not be used, whatever else allows them. Entries as in allow.';
const TAGS = 'A tool with tags needs one of these. Empty: it needs none.';

const mode = z.enum(MODES);

/** Lists of one place: each place must allow a tool, and deny wins in each. */
const rules = {
  allow: entries.default([]).describe(ALLOW),
  deny: entries.default([]).describe(DENY),
};

const taggedRules = z.strictObject({ ...rules, require_tags: tags.default([]).describe(TAGS) });

export const channelPolicy = taggedRules;

export const toolPolicySection = z
  .strictObject({
    ...rules,
    require_tags: tags.default([]).describe(TAGS),
    mode: mode
      .default('guarded')
      .describe(
        'What the agent does for you without a question. read-only: it changes nothing. guarded: it changes files of its workspace and writes in the chat it was called in. workspace: it runs programs that are shut in, too. full: all it has tools for. Members get at most guarded, guests read-only.',
      ),
    members: entries
      .default([])
      .describe(
        'Tools that people you listed or paired may use beside the basic ones. Entries as in allow. A new version adds none.',
      ),
    guests: entries.default([]).describe('The same for people who are let in by "*". They change nothing in any case.'),
    senders: z
      .record(
        z.string().min(1),
        z.strictObject({ ...rules, mode: mode.optional().describe('In place of the mode above, also a higher one.') }),
      )
      .default({})
      .describe('Rules of one person, by "channel:sender id". For a member, allow also names tools beside the basic ones.'),
  })
  .prefault({})
  .describe('Which tools the agent may use, for whom, and what it must ask for. A word that is not known stops the start.');

export const policyByProvider = z
  .record(z.string().min(1), taggedRules)
  .default({})
  .describe('Rules by "provider/model", model or provider: the exact model goes before its provider. As in tool_policy.');

export const contextFilter = tags
  .default([])
  .describe('Tags: only tools with one of them, and tools without tags, are offered. Empty: all.');

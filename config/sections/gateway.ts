import { z } from 'zod';
import { QUEUE_WORDS } from '../../src/core/queueing.ts';
import { channelEntry } from './channels.ts';

/** A time of zero would end every call at once; a week is longer than any turn can last. */
const seconds = z
  .number()
  .min(1)
  .max(7 * 24 * 3600);

const webhooks = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .default('127.0.0.1')
      .describe(
        'Address that platforms reach, through a proxy or tunnel in front of it. Every call is checked for its signature.',
      ),
    port: z.int().min(0).max(65_535).default(7781).describe('0 takes any free port.'),
  })
  .prefault({})
  .describe('Where channels with webhooks listen; only when one is configured.');

const http = z
  .strictObject({
    host: z
      .enum(['127.0.0.1', '::1', 'localhost'])
      .default('127.0.0.1')
      .describe(
        'Address to listen on, of this machine alone: what is to be reached from elsewhere needs a proxy in front of it.',
      ),
    port: z
      .int()
      .min(0)
      .max(65535)
      .optional()
      .describe(
        'Port to listen on; 0 takes a free one. Default: 7780, or a free one where that is taken. One that is named here and taken stops the start.',
      ),
  })
  .prefault({})
  .describe('The HTTP listener for health and status.');

/** Section `gateway`. Figures: octos F2 and design 3; times in seconds or hours as their names say. */
export const gatewaySection = z
  .strictObject({
    channels: z
      .array(channelEntry)
      .default([
        {
          type: 'cli',
          allowed_senders: [],
          allowed_groups: [],
          group_mode: 'mention',
          group_patterns: [],
          streaming: 'edit',
          settings: {},
        },
      ])
      .describe('Where people can talk to the agent. Default: the local terminal.'),
    owner: z
      .array(
        z.strictObject({
          channel: z.string().min(1).describe('Name of the channel, as in "channels".'),
          chat_id: z
            .string()
            .min(1)
            .describe('Id of the chat on that platform. The person of a private chat writes as you; of a group see sender_ids.'),
          sender_ids: z
            .array(z.string().min(1))
            .default([])
            .describe(
              'Your immutable sender ids on that channel; not needed where the id of your private chat is your own id. Required where the chat is a group: only these ids choose the model there, see config keys in /why, and answer questions to you.',
            ),
        }),
      )
      .max(4)
      .default([])
      .describe('Chats in which the operator is told of trouble and asked for decisions; the first that works is used.'),
    max_history: z
      .int()
      .min(1)
      .max(1000)
      .default(50)
      .describe(
        'Most messages of a session that the model is given (1 to 1000). Of a longer session it is given the newest, between half of this and all of it, with the summary of what was before: a beginning that stays the same is cheaper. Applies without a restart.',
      ),
    compaction: z
      .boolean()
      .default(true)
      .describe(
        'From 40 stored messages on (46 while messages wait) all but the newest 10 of a conversation become a summary by the model of purposes.summary, else the one that answers; what it stands for stays in the archive. false: only `/compact` does so. Applies without a restart.',
      ),
    max_sessions: z
      .int()
      .min(1)
      .default(1000)
      .describe('Sessions kept in memory; the rest stay on disk and are read again when needed.'),
    max_concurrent_sessions: z
      .int()
      .min(1)
      .max(1000)
      .default(10)
      .describe('Turns that may run at the same time. Channels with work share them equally, so that none waits for another.'),
    queue_mode: z
      .enum(QUEUE_WORDS)
      .default('followup')
      .describe(
        'What happens to a message that arrives while a turn of its chat runs. followup: it is answered next. collect: all that wait are answered together. steer: it is told to the turn that runs, and of what waits the newest counts. interrupt: it ends that turn. speculative (or spec): it is answered at once, beside it. A channel may have its own, and people choose with /queue. Applies without a restart.',
      ),
    auto_escalation: z
      .boolean()
      .default(false)
      .describe(
        'Where three answers in a row take three times as long as usual in a chat, switch that chat to queue mode speculative, and a router over several models (adaptive_routing) to mode hedge, until answers are quick again. Applies without a restart.',
      ),
    annotate: z
      .boolean()
      .default(false)
      .describe(
        'Below each answer in a chat, a line with the model, its tokens and the time it took. Applies without a restart.',
      ),
    show_thinking: z
      .boolean()
      .default(false)
      .describe(
        'Whether people may have the thoughts of the model shown above its answers, by /thinking on. Applies without a restart.',
      ),
    system_prompt: z
      .string()
      .optional()
      .describe('Instructions the agent gets before every conversation. Applies without a restart.'),
    max_output_tokens: z
      .int()
      .min(1)
      .optional()
      .describe('Longest answer of one model call, in tokens. Default: what the model allows.'),
    llm_timeout_secs: seconds.default(300).describe('Longest wait for one model call.'),
    llm_thinking_timeout_secs: seconds
      .default(300)
      .describe('Longest silence of a model that thinks before the first word of its answer. Within llm_timeout_secs.'),
    llm_connect_timeout_secs: seconds.default(10).describe('Longest wait for the connection to the model.'),
    tool_timeout_secs: seconds.default(600).describe('Longest run of one tool.'),
    session_timeout_secs: seconds.default(1800).describe('Longest turn: all model calls and tools for one message.'),
    max_attempts: z
      .int()
      .min(1)
      .max(100)
      .default(3)
      .describe(
        'How often a message is begun when its process dies each time; then it is a dead letter. A task is begun twice at most.',
      ),
    max_message_age_hours: z
      .number()
      .positive()
      .default(24)
      .describe('Older messages that were not answered become dead letters.'),
    answer_expiry_hours: z
      .number()
      .positive()
      .default(24)
      .describe('An answer that could not be sent for this long is dropped and reported.'),
    high_water: z
      .int()
      .min(1)
      .default(10000)
      .describe('Messages waiting on disk above which the platforms are asked to hold theirs.'),
    bus_capacity: z
      .int()
      .min(1)
      .default(256)
      .describe('Waiting messages whose places are held in memory; more are looked up on disk.'),
    http,
    webhooks,
  })
  .prefault({})
  .describe('The daemon: channels, bounds and time limits.');

// every key of the config -> the one part that takes a change of it

import type { TurnPermits } from '../bus/turn-permits.ts';
import type { Reloadable } from '../core/reload.ts';
import type { Ticker } from '../schedule/ticker.ts';
import type { McpServers } from '../tools/mcp/servers.ts';
import type { McpClients } from './compose/mcp-clients.ts';
import type { LiveModels } from './compose/models.ts';
import { type Config, LIVE_GATEWAY_KEYS } from './compose/options.ts';
import { changedKeys, fixedPart, livePart } from './reload.ts';
import { type ChannelsPartOptions, channelsPart } from './reload-channels.ts';
import { mcpPart } from './reload-mcp.ts';

/** What the models are made of. Those of turns that run go on; the next turns get the new ones. */
const MODEL_KEYS = [
  ...['provider', 'model', 'base_url', 'api_key_env', 'api_key_envs', 'api_type', 'model_hints', 'extra_headers', 'extra_body'],
  ...['fallback_models', 'models', 'purposes', 'thinking', 'adaptive_routing', 'transcription', 'require_model'],
  ...['gateway.llm_timeout_secs', 'gateway.llm_thinking_timeout_secs', 'gateway.llm_connect_timeout_secs'],
];

/** Listeners, what is sized once, and what was tried at the start. */
const START_KEYS = [
  'sandbox',
  'web.web_search',
  ...['http', 'webhooks', 'max_sessions', 'bus_capacity', 'high_water'].map((key) => `gateway.${key}`),
];

/** Read by editors or by commands, or by every start for what earlier processes left. */
const UNREAD_KEYS = ['$schema', 'version', 'embedding', 'security', 'gateway.max_attempts', 'gateway.max_message_age_hours'];

export interface ReloadPartsOptions extends ChannelsPartOptions {
  readonly models: LiveModels;
  readonly mcp: Pick<McpServers, 'apply'>;
  readonly clients: Pick<McpClients, 'look'>;
  readonly ticker: Pick<Ticker, 'wake'>;
  readonly permits: Pick<TurnPermits, 'look'>;
  /** Parts of what the daemon runs in: they own the keys that it does not read. Default: none. */
  readonly more?: readonly Reloadable<Config>[] | undefined;
}

/**
 * In the order in which they take a change into use: channels come after all that what they receive needs.
 * They can still refuse; so what could not go back without a loss, the calls of MCP servers, comes last.
 */
export function reloadParts({
  models,
  mcp,
  clients,
  ticker,
  permits,
  more = [],
  ...options
}: ReloadPartsOptions): readonly Reloadable<Config>[] {
  return [
    {
      name: 'models',
      keys: MODEL_KEYS,
      plan: (before, after) => changedKeys(before, after, MODEL_KEYS).map((key) => ({ key, cost: 'live' })),
      prepare: (before, after) => models.prepare(before, after),
    },
    livePart('budget', ['budget'], ({ budget }) => models.current.setLimits?.(budget)),
    channelsPart(options),
    mcpPart(mcp),
    livePart('heartbeat', ['heartbeat'], undefined, () => ticker.wake()),
    livePart(
      'turns',
      ['max_iterations', 'disk', 'limits', 'tasks', ...LIVE_GATEWAY_KEYS.map((key) => `gateway.${key}`)],
      undefined,
      () => permits.look(),
    ),
    livePart('subagents', ['subagents']),
    livePart('hooks', ['hooks']),
    livePart('questions', ['questions']),
    livePart('policy', ['tool_policy', 'tool_policy_by_provider', 'context_filter']),
    livePart('web', ['web.web_fetch', 'web.browser']),
    livePart('clients', ['mcp_clients'], undefined, () => void clients.look()),
    ...more,
    fixedPart('start', START_KEYS, 'restart-daemon'),
    fixedPart('unread', UNREAD_KEYS, 'nothing'),
  ];
}

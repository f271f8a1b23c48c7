import type { Config } from '../../../config/schema.ts';
import { clientPrincipal } from '../../core/mcp-client.ts';
import type { PolicyRules, PolicySettings } from '../../tools/policy.ts';

type Entry = Config['gateway']['channels'][number];
type Section = Omit<Config['tool_policy'], 'mode' | 'members' | 'guests' | 'senders'>;

/** Channels whose senders can be forged, or whose words travel unprotected: no yes counts there. */
const UNPROVEN = ['email', 'twilio'];

/** The settings of the policy, from the config. `channel`: rules of a channel by its name. */
export function policySettings(
  live: Pick<Config, 'tool_policy' | 'tool_policy_by_provider' | 'context_filter' | 'mcp_clients'>,
  channel: (name: string) => Pick<Entry, 'tool_policy'> | undefined,
): PolicySettings {
  const { tool_policy: own, tool_policy_by_provider: byProvider, context_filter: contextFilter, mcp_clients: clients } = live;
  const ofClients = Object.entries(clients).map(([name, { allow, deny, mode }]) => [
    clientPrincipal(name),
    { allow, deny, mode },
  ]);
  return {
    ...{ ...rulesOf(own), mode: own.mode, members: own.members, guests: own.guests, contextFilter },
    senders: { ...own.senders, ...Object.fromEntries(ofClients) },
    byProvider: Object.fromEntries(Object.entries(byProvider).map(([name, rules]) => [name, rulesOf(rules)])),
    channel(name) {
      const rules = channel(name)?.tool_policy;
      return rules && rulesOf(rules);
    },
  };
}

/** Whether a stranger can write there under the id of another person. */
export function isSpoofable(channel: Pick<Entry, 'type' | 'settings'> | undefined): boolean {
  return channel?.type === 'twilio' || channel?.settings['trust_from'] === true;
}

/** Whether a yes that comes through a channel of this type is surely of the person whose it seems to be. */
export function provesSender(type: string | undefined): boolean {
  return type !== undefined && !UNPROVEN.includes(type);
}

function rulesOf({ allow, deny, require_tags: requireTags }: Section): PolicyRules {
  return { allow, deny, requireTags };
}

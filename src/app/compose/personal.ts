// /link, /unlink, /forget me -> what each needs of the daemon
import type { Address, InboundMessage } from '../../core/message.ts';
import type { NewPart } from '../../core/outbox.ts';
import { STOPPED_MARK } from '../../delivery/answer-place.ts';
import type { PersonalCommand } from '../../gateway/commands/command.ts';
import { roleOf, type StandingOptions } from '../../operator/authority.ts';
import { newCode } from '../../operator/question-text.ts';
import { forgetAnswer } from '../../runs/forgetting.ts';
import { type LinkingOptions, linkAnswer, type PersonalAnswer, unlinkAnswer } from '../../runs/linking.ts';
import { provesSender } from './policy.ts';
import type { TurnParts } from './runner.ts';

export function personalOf(
  { base, operator: { approvals, owner }, people, parts: plan }: TurnParts,
  standing: StandingOptions,
): (message: InboundMessage, command: PersonalCommand) => Promise<PersonalAnswer> {
  const { options, journal, channels } = base;
  const { clock } = options;
  const parts = (to: Address & { readonly id: string }, text: string): readonly NewPart[] => plan(to, text, []);
  const linking: LinkingOptions = {
    ...{ people, waits: journal.waits, newCode, parts, clock },
    isOwner: (who) => channels.isLocal(who.channel) || owner.isOwnersId(who),
    roleOf: (message) => roleOf(message, standing),
    provesSender: (channel) => provesSender(channels.rules(channel)?.type),
  };
  const forgetting = {
    ask: (question: Parameters<typeof approvals.ask>[0]) => approvals.ask(question),
    open: () => approvals.open(),
    ...{ parts, clock, stoppedMark: STOPPED_MARK },
  };
  return async (message, { what, code }) => {
    if (what === 'link') return await linkAnswer(message, code, linking);
    return what === 'unlink' ? await unlinkAnswer(message, linking) : await forgetAnswer(message, forgetting);
  };
}

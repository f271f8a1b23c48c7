import { join } from 'node:path';
import { addressOf } from '../../core/address.ts';
import { childFactsOf } from '../../core/child.ts';
import { errorText } from '../../core/errors.ts';
import { channelOf, type RunRow, targetOf } from '../../core/run.ts';
import type { AnswerScope, RunScope } from '../../core/tool.ts';
import type { Delivery } from '../../delivery/deliver.ts';
import { copyAttachment } from '../../media/attachments.ts';
import { RESULT_SHAPES } from '../../runs/profile.ts';
import type { RunnerOptions } from '../../runs/runner-options.ts';
import { joinTools, type RefusedTool } from '../../tools/catalog.ts';
import { builtInTools } from '../../tools/index.ts';
import { keepingLarge } from '../../tools/large-results.ts';
import { withDefaults } from '../../tools/tool-settings.ts';
import { withinDisk } from '../../tools/within-disk.ts';
import { composeModelAccess, type ModelAccessParts } from './ask-model.ts';
import { composeBrowser } from './browser.ts';
import { composeDocuments } from './documents.ts';
import { isReserved, type SendBeside } from './messages.ts';
import { type ModelBookParts, modelBook } from './model-book.ts';
import { type Base, redactOf } from './options.ts';
import { provesSender } from './policy.ts';
import { jobBook } from './schedule.ts';
import { composeSubAgents } from './sub-agents.ts';
import { taskBook } from './tasks.ts';
import { toolSettingsOf } from './tool-settings.ts';
import { composeWeb } from './web.ts';

export interface ToolParts extends ModelAccessParts, ModelBookParts {
  readonly base: Base;
  readonly choices: ModelAccessParts['choices'] & ModelBookParts['choices'];
  readonly delivery: Pick<Delivery, 'react'>;
  readonly sendBeside: SendBeside;
}

/** The tools of one run, bound to its chat and to what its channel can do. */
export function composeTools(parts: ToolParts): RunnerOptions['tools'] {
  const { base, delivery, sendBeside } = parts;
  const kits = [builtInTools, ...(base.options.extraTools ?? [])];
  const tellOnce = refusalLog(base.options);
  const jobs = jobBook(base);
  const tasks = taskBook(base);
  const toolSettings = toolSettingsOf(base.options);
  const { egress, webSearch, pages } = composeWeb(base);
  const documentsOf = composeDocuments(base);
  const modelsOf = composeModelAccess(parts);
  const subAgentsOf = composeSubAgents(parts);
  const browserOf = composeBrowser(base);
  const claimDisk: RunScope['claimDisk'] = (workspace, bytes, signal) => base.disk.claim(workspace, bytes, signal);
  return (row, taint, held) => {
    const programs = base.programs.of(row.key);
    const spawner = programs && withinDisk(programs, base.disk, base.options.clock);
    const documents = documentsOf(row.key);
    const book = modelBook(row, parts);
    const browser = browserOf(row.session);
    const reach = {
      egress,
      readPage: pages(row.key),
      models: modelsOf(row),
      subAgents: subAgentsOf(row),
      toolSettings,
      ...(book ? { modelBook: book } : {}),
      ...(webSearch ? { webSearch } : {}),
      ...(spawner ? { spawner } : {}),
      ...(documents ? { documents } : {}),
      ...(browser ? { browser } : {}),
    };
    const own = scopeOf(row, base, delivery);
    const sessions = childFactsOf(row)?.ownMcp ? { held } : {};
    // Only what a person has written begins tasks: all else could go on without end, and a job beyond its
    // budget.
    const begins = row.message ? { tasks } : {};
    const scope = { ...own, jobs, ...begins, taint, claimDisk, ...reach, ...sessions, ...sendBeside(row, own.origin) };
    const large = { shape: RESULT_SHAPES[row.profile], claimDisk };
    const builtIn = kits.flatMap((kit) => kit(scope)).map((tool) => withDefaults(tool, toolSettings.current[tool.name]));
    const { tools, refused } = joinTools(builtIn, base.sources(), scope);
    for (const each of refused) tellOnce(each);
    return tools.map((tool) => keepingLarge(tool, large));
  };
}

/** A run is made for each message, and the refusal of a name is the same each time. */
function refusalLog({ logger }: Pick<Base['options'], 'logger'>): (refused: RefusedTool) => void {
  const told = new Set<string>();
  return (refused) => {
    const key = `${refused.source} ${refused.tool}`;
    if (told.has(key)) return;
    told.add(key);
    logger.warn('tool.refused', { ...refused });
  };
}

function scopeOf(row: RunRow, base: Base, delivery: Pick<Delivery, 'react'>): RunScope {
  const { session, authority } = row;
  const target = targetOf(row);
  const scope = { session, authority, channel: channelOf(row) };
  if (!target) return scope;
  const origin = addressOf(target);
  const asks = row.message && mayBeAsked(scope.channel, base) ? { asks: { principal: authority.principal, to: origin } } : {};
  return { ...scope, origin, answer: answerOf(row, base, delivery), ...asks };
}

/** A yes to what a server asks takes effect outside, so it counts only where a yes to a call does. */
function mayBeAsked(channel: string, { channels }: Base): boolean {
  return channels.isLocal(channel) || provesSender(channels.rules(channel)?.type);
}

function answerOf(row: RunRow, { options, channels }: Base, delivery: Pick<Delivery, 'react'>): AnswerScope {
  const { message } = row;
  // Asked at each call: the channel may have been replaced since.
  const channel = () => channels.channels.get(channelOf(row));
  return {
    async attach(file, signal) {
      signal.throwIfAborted();
      return await copyAttachment(join(options.dataDir, 'outgoing'), file, channel()?.limits.uploadBytes ?? 0);
    },
    isReserved,
    ...(message && channel()?.react
      ? {
          react: (emoji, signal) =>
            delivery.react(message, emoji, signal).catch((error: unknown) => {
              throw new Error(redactOf(options)(errorText(error)));
            }),
        }
      : {}),
  };
}

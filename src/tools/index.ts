import type { Tool, ToolKit } from '../core/tool.ts';
import { cron } from './cron.ts';
import { listDirTool } from './list-dir.ts';
import { offerChoices } from './offer-choices.ts';
import { react } from './react.ts';
import { readFileTool } from './read-file.ts';
import { sendFile } from './send-file.ts';
import { writeFileTool } from './write-file.ts';

/** Tools that need nothing but the session's workspace. A new one is one file and one entry here. */
const TOOLS: readonly Tool[] = [readFileTool, writeFileTool, listDirTool];
/** Tools that need something of their run. A new one is one file and one entry here. */
const BOUND: readonly ToolKit[] = [sendFile, offerChoices, react, cron];

/** Every tool that the gateway itself has, for one run. */
export const builtInTools: ToolKit = (scope) => [...TOOLS, ...BOUND.flatMap((kit) => kit(scope))];

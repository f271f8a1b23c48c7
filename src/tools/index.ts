import type { Tool } from '../core/tool.ts';
import { listDirTool } from './list-dir.ts';
import { offerChoicesTool } from './offer-choices.ts';
import { reactTool } from './react.ts';
import { readFileTool } from './read-file.ts';
import { sendFileTool } from './send-file.ts';
import { writeFileTool } from './write-file.ts';

/** Every tool that needs nothing but the session's workspace and its chat. A new one is one file and one entry here. */
export function builtInTools(): readonly Tool[] {
  return [readFileTool, writeFileTool, listDirTool, sendFileTool, offerChoicesTool, reactTool];
}

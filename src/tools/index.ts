import type { ToolFacts, ToolKit } from '../core/tool.ts';
import { askHuman } from './ask-human.ts';
import { browser } from './browser.ts';
import { codeStructureTool } from './code-structure.ts';
import { configureTool } from './configure-tool.ts';
import { convertMarkdownToDocx } from './convert-markdown-to-docx.ts';
import { cron } from './cron.ts';
import { deepSearch } from './deep-search.ts';
import { type KnownKit, unbound } from './define.ts';
import { diffEdit } from './diff-edit.ts';
import { dispatchSubagent } from './dispatch-subagent.ts';
import { editFile } from './edit-file.ts';
import { git } from './git.ts';
import { globTool } from './glob.ts';
import { grep } from './grep.ts';
import { listDirTool } from './list-dir.ts';
import { message } from './message.ts';
import { modelCheck } from './model-check.ts';
import { offerChoices } from './offer-choices.ts';
import { react } from './react.ts';
import { readDocument } from './read-document.ts';
import { readFileTool } from './read-file.ts';
import { sendEmail } from './send-email.ts';
import { sendFile } from './send-file.ts';
import { shell } from './shell.ts';
import { spawn } from './spawn.ts';
import { startTask } from './start-task.ts';
import { synthesizeResearch } from './synthesize-research.ts';
import { waitTool } from './wait.ts';
import { webFetch } from './web-fetch.ts';
import { webSearch } from './web-search.ts';
import { writeFile } from './write-file.ts';

/** A new tool is one file and one entry here. */
const KITS: readonly KnownKit[] = [
  unbound(readFileTool),
  ...[writeFile, editFile, diffEdit],
  ...[unbound(listDirTool), unbound(globTool), grep, unbound(codeStructureTool)],
  ...[sendFile, offerChoices, react, message, askHuman, sendEmail, cron, startTask, shell],
  ...[webFetch, webSearch, deepSearch, synthesizeResearch, browser],
  ...[readDocument, convertMarkdownToDocx, git, unbound(waitTool)],
  ...[modelCheck, configureTool, spawn, dispatchSubagent],
];

/** Every tool that the gateway itself has, for one run. */
export const builtInTools: ToolKit = (scope) => KITS.flatMap((kit) => kit(scope));

/** What the built-in tools are, whichever run is offered them. */
export const BUILT_IN: readonly ToolFacts[] = KITS.map(({ facts }) => facts);

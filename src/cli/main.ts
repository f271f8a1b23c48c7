#!/usr/bin/env node
// The guard alone is imported statically, so that a runtime that is too old for the rest gets its one line.
import './node-guard.mjs';

const { runProcess } = await import('./run-process.ts');
await runProcess();

/** Spec G5. Each pattern is linear: every gap is bounded, no two parts of one match the same text (A45). */

export type GuardLabel =
  | 'system-override'
  | 'role-confusion'
  | 'tool-call-injection'
  | 'secret-extraction'
  | 'instruction-injection';

export interface GuardRule {
  readonly label: GuardLabel;
  /** `low` is only told; the others are redacted. */
  readonly severity: 'high' | 'medium' | 'low';
  /** Global, case-insensitive; for text that `guard.ts` has folded. */
  readonly pattern: RegExp;
}

/** Up to so many words between two others. Lines may be wrapped anywhere. */
const words = (most: number) => String.raw`\s{1,8}(?:[\w'’,-]{1,24}\s{1,8}){0,${most}}`;
/** JSON in a text of JSON has its quotes escaped. */
const QUOTE = String.raw`\\{0,4}["']`;

const rule = (label: GuardLabel, severity: GuardRule['severity'], source: string): GuardRule => ({
  label,
  severity,
  pattern: new RegExp(source, 'gim'),
});

const OLD = '(?:previous|prior|earlier|preceding|above|former|existing|original|current|system|your|all|any)';
const ORDERS = '(?:instructions?|rules?|prompts?|guidelines?|directives?|orders|programming|restrictions)';
const SECRETS =
  '(?:(?:system|initial|hidden|original|full|entire|secret)\\s{1,8}(?:prompts?|instructions)|prompts?|api[ _-]?keys?|passwords?|(?:access |auth |bearer |secret )?tokens?|credentials)';
const ROLES =
  '(?:different\\s{1,8}(?:\\w{1,20}\\s{1,8})?(?:assistant|model|AI|agent|bot|persona|character|system)|unrestricted|unfiltered|uncensored|jailbroken|DAN|evil|malicious|(?:in\\s{1,8})?developer\\s{1,8}mode)';

export const GUARD_RULES: readonly GuardRule[] = [
  rule('system-override', 'high', `\\b(?:ignore|forget|disregard|override)${words(3)}${OLD}\\b${words(3)}${ORDERS}\\b`),
  rule('system-override', 'high', '\\b(?:new|updated|real|actual|revised|true)\\s{1,8}(?:system\\s{1,8})?instructions?\\s{0,4}:'),
  // A sentence, with blanks: `root: /var/www/html` of a config is none. read_file begins lines with a number.
  rule(
    'role-confusion',
    'high',
    String.raw`(?<=(?:^|\\n)(?:\d{1,9}│ )?[ \t>*#"'-]{0,8})(?:system|assistant|admin|root)[ \t]{0,4}(?:\*\*)?:(?=[^\n]{10})[^\S\n]{0,8}[^\s:]{1,40}[^\S\n]{1,8}[^\s:=]{1,40}[^\S\n]{1,8}[^\n]{1,400}`,
  ),
  rule('role-confusion', 'high', `\\byou\\s{1,8}are\\s{1,8}now${words(3)}${ROLES}\\b`),
  rule(
    'tool-call-injection',
    'high',
    `${QUOTE}(?:name|function|tool_name)${QUOTE}\\s{0,8}:\\s{0,8}${QUOTE}[^"'\\n]{1,100}${QUOTE}\\s{0,8},\\s{0,40}${QUOTE}(?:arguments|parameters|input)${QUOTE}\\s{0,8}:`,
  ),
  rule('tool-call-injection', 'medium', '</?(?:\\w{1,20}:)?(?:tool_calls?|function_calls?|invoke)(?:\\s[^<>]{0,200})?/?>'),
  rule(
    'secret-extraction',
    'medium',
    `\\b(?:print|show|reveal|repeat|display|disclose|leak|output|send|tell|give|dump)${words(2)}(?:your|my|the|all|any|every|its)${words(2)}${SECRETS}\\b`,
  ),
  rule(
    'secret-extraction',
    'low',
    "\\bwhat(?:['’]s|\\s{1,8}(?:is|are|were))\\s{1,8}your\\s{1,8}(?:\\w{1,20}\\s{1,8}){0,2}(?:prompts?|instructions?|rules|guidelines)\\b",
  ),
  rule(
    'instruction-injection',
    'medium',
    `\\b(?:from\\s{1,8}now\\s{1,8}on|from\\s{1,8}this\\s{1,8}point\\s{1,8}(?:on|onwards?|forward)|henceforth),?${words(4)}(?:must|should|shall|will|never|always|are\\s{1,8}to)\\b`,
  ),
  rule('instruction-injection', 'medium', '\\[/?(?:system|inst|sys)\\]|<</?sys>>'),
];

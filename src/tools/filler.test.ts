import { expect, test } from 'vitest';
import { isFiller } from './filler.ts';

test.each([
  ...[
    'Thinking…',
    '🤔 thinking...',
    '_One moment, please!_',
    "I'm working on it.",
    'Let me check',
    'ONE SEC',
    '⏳ Working on it…',
  ],
  ...['Einen Moment bitte …', 'Un instant, s’il vous plaît.', 'Un momento, por favor', 'Подождите, пожалуйста'],
  ...[
    '思考中…',
    '请稍等。',
    '請稍候',
    '少々お待ちください。',
    '考え中です…',
    '잠시만 기다려 주세요.',
    '생각 중...',
    'ｔｈｉｎｋｉｎｇ',
  ],
])('%s says only that there is work', (text) => {
  expect(isFiller(text)).toBe(true);
});

test.each([
  ...['One moment: the file has 3 errors', 'Thinking about it, I would say no', 'Please wait for me at the station', '👍', ''],
  ...['请稍等，我在第三页找到了答案', '少々お待ちください。3時に戻ります', 'Working hours are 9 to 5', 'Half is done'],
])('%s says something', (text) => {
  expect(isFiller(text)).toBe(false);
});

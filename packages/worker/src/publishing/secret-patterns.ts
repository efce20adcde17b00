/**
 * Recognizes common kinds of keys by their form. Each kind has a prefix that hardly occurs otherwise, so ordinary code is
 * not reported. Values that are obviously placeholders are not reported either.
 */
interface KeyPattern {
  rule: string;
  /** The group `key`, or else the whole match, is the value. Every expression takes linear time. */
  expression: RegExp;
}

const privateKey = "private key";

const keyPatterns: KeyPattern[] = [
  { rule: "AWS access key", expression: /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])/g },
  {
    rule: "AWS secret access key",
    expression:
      /aws_?secret_?(?:access_?)?key["']?\s{0,8}[:=]\s{0,8}["']?(?<key>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
  },
  { rule: "GitHub token", expression: /(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{36,255}/g },
  { rule: "GitHub token", expression: /(?<![A-Za-z0-9])github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}/g },
  {
    rule: "GitLab token",
    expression: /(?<![A-Za-z0-9])gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[A-Za-z0-9_-]{20,300}/g,
  },
  { rule: "Slack token", expression: /(?<![A-Za-z0-9])xox[abeprs]-[0-9]{1,14}-[A-Za-z0-9-]{16,250}/g },
  {
    rule: "Slack token",
    expression: /(?<![A-Za-z0-9])xapp-[0-9]-[A-Z0-9]{8,14}-[0-9]{8,14}-[a-f0-9]{32,64}/g,
  },
  {
    rule: "Slack webhook",
    expression: /hooks\.slack\.com\/services\/T[A-Z0-9]{8,12}\/B[A-Z0-9]{8,12}\/(?<key>[A-Za-z0-9]{24})/g,
  },
  { rule: "Stripe key", expression: /(?<![A-Za-z0-9])(?:sk|rk)_live_[A-Za-z0-9]{20,250}/g },
  { rule: "Google API key", expression: /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/g },
  { rule: "Google client secret", expression: /(?<![A-Za-z0-9])GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])/g },
  { rule: "OpenAI key", expression: /(?<![A-Za-z0-9])sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,250}/g },
  { rule: "OpenAI key", expression: /(?<![A-Za-z0-9])sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}/g },
  { rule: "Anthropic key", expression: /(?<![A-Za-z0-9])sk-ant-[a-z]{2,6}[0-9]{2}-[A-Za-z0-9_-]{80,250}/g },
  { rule: "npm token", expression: /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])/g },
  { rule: "PyPI token", expression: /(?<![A-Za-z0-9])pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,300}/g },
  {
    rule: "SendGrid key",
    expression: /(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g,
  },
  { rule: "DigitalOcean token", expression: /(?<![A-Za-z0-9])do[opr]_v1_[a-f0-9]{64}/g },
  { rule: "Docker token", expression: /(?<![A-Za-z0-9])dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,60}/g },
  { rule: "Hugging Face token", expression: /(?<![A-Za-z0-9])hf_[A-Za-z]{34}(?![A-Za-z0-9])/g },
  { rule: "Shopify token", expression: /(?<![A-Za-z0-9])shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}(?![A-Za-z0-9])/g },
  { rule: "Linear key", expression: /(?<![A-Za-z0-9])lin_api_[A-Za-z0-9]{40}(?![A-Za-z0-9])/g },
  { rule: "Atlassian token", expression: /(?<![A-Za-z0-9])ATATT3[A-Za-z0-9_=-]{180,250}/g },
  { rule: "Vault token", expression: /(?<![A-Za-z0-9])hv[sb]\.[A-Za-z0-9_-]{90,250}/g },
  {
    rule: "Telegram token",
    expression: /(?<![A-Za-z0-9:])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])/g,
  },
  { rule: "age key", expression: /AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}/g },
  { rule: "Azure storage key", expression: /AccountKey=(?<key>[A-Za-z0-9+/]{86}==)/g },
  { rule: "Outrider key", expression: /(?<![A-Za-z0-9])or[apw]_[A-Za-z0-9]{45,60}(?![A-Za-z0-9])/g },
  {
    rule: privateKey,
    expression:
      /-----BEGIN (?:[A-Z0-9]{2,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|["'+,;`]){1,60}(?:[A-Za-z-]{1,30}: [^\n]{0,200}\n\s{0,8}){0,8}(?<key>[A-Za-z0-9+/=]{32})/g,
  },
];

/** One of these is in every match, which is faster to search for. */
const hint =
  /A(?:KI|SI)A|aws_?secret|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|xox[abeprs]-|xapp-|hooks\.slack|_live_|AIza|GOCSPX|sk-|npm_|pypi-|SG\.|do[opr]_v1_|dckr_|hf_|shp[acps]{2}_|lin_api_|ATATT3|hv[sb]\.|or[apw]_|:AA|AGE-SECRET|AccountKey=|PRIVATE KEY/i;

const placeholder =
  /example|placeholder|dummy|sample|redacted|changeme|your[-_]|xxxx|(.)\1{5}|0123456789|1234567890|abcdefghij/i;
const MIN_DISTINCT_CHARACTERS = 8;

export interface KeyMatch {
  rule: string;
  /** The position in the text. */
  index: number;
}

/** Finds keys in a text, in the order of the kinds. */
export function findKeys(text: string): KeyMatch[] {
  if (!hint.test(text)) return [];
  return keyPatterns.flatMap(({ rule, expression }) =>
    [...text.matchAll(expression)].flatMap((match) => {
      const value = match.groups?.key ?? match[0];
      // The beginning of a private key has no random characters.
      const isKey = rule === privateKey ? isVaried(value) : !placeholder.test(value) && isVaried(value);
      return isKey ? [{ rule, index: match.index }] : [];
    }),
  );
}

/** The longest text that an expression can match. A text that is searched in parts must overlap by this. */
export const MAX_KEY_CHARACTERS = 4_096;

function isVaried(value: string): boolean {
  return new Set(value.replace(/^[A-Za-z0-9]{2,10}[-_.]/, "")).size >= MIN_DISTINCT_CHARACTERS;
}

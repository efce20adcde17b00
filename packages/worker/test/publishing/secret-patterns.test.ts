import { describe, expect, test } from "vitest";
import { findKeys } from "../../src/publishing/secret-patterns.ts";

/** Keys are put together here, so that this file does not contain any. */

const letters = "q7Zr2Lk9Xw4Tb8Vn3Mc6Hj1Gf5Ds0PaYeUiOo";
const upper = "Q7ZR2LK3XW4TB5VN";
const hex = "3f9a1c7e5b2d8046e1f7a9c3b5d2084f6e9a1c7b3d5f2840a6c8e1f397b5d204";
const repeat = (length: number) => letters.repeat(8).slice(0, length);
const rules = (text: string) => findKeys(text).map(({ rule }) => rule);

describe("keys are found", () => {
  test.each([
    ["AWS access key", `AKIA${upper}`],
    ["AWS secret access key", `aws_secret_access_key = "${repeat(40)}"`],
    ["GitHub token", `ghp_${repeat(36)}`],
    ["GitHub token", `github_pat_${repeat(22)}_${repeat(59)}`],
    ["GitLab token", `glpat-${repeat(20)}`],
    ["Slack token", `xoxb-283716450923-${repeat(24)}`],
    [
      "Slack webhook",
      `https://hooks.slack.com/services/T0${upper.slice(0, 8)}/B0${upper.slice(0, 8)}/${repeat(24)}`,
    ],
    ["Stripe key", `sk_live_${repeat(24)}`],
    ["Google API key", `AIza${repeat(35)}`],
    ["OpenAI key", `sk-proj-${repeat(80)}`],
    ["OpenAI key", `sk-${repeat(20)}T3BlbkFJ${repeat(20)}`],
    ["Anthropic key", `sk-ant-api03-${repeat(95)}`],
    ["npm token", `//registry.example.com/:_authToken=npm_${repeat(36)}`],
    ["PyPI token", `pypi-AgEIcHlwaS5vcmc${repeat(100)}`],
    ["DigitalOcean token", `dop_v1_${hex}`],
    ["Outrider key", `orp_${repeat(49)}`],
    ["private key", `-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n`],
    ["private key", `"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"`],
    [
      "private key",
      `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nMIIEpAIBAAKCAQEAx7Zr2Lk9Xw4Tb8Vn3Mc6\n`,
    ],
  ])("%s", (rule, text) => {
    expect(rules(text)).toEqual([rule]);
    expect(rules(`const key = '${text}';\n`)).toEqual([rule]);
  });
});

test("ordinary code and placeholders are not reported", () => {
  const texts = [
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    `ghp_${"x".repeat(36)}`,
    `ghp_${"0123456789".repeat(4)}`,
    "GITHUB_TOKEN=ghp_your_token",
    "sk-ant-api03-...",
    "sk_live_your-key sk_test_4eC39HqLyjWDarjtT1zdp7dc",
    `sk-${"a".repeat(48)}`,
    "const skeleton = 'sk-loading-placeholder-with-a-long-name-for-a-css-class-of-a-page';",
    ".task-list-item-checkbox-with-risk-assessment-and-disk-usage-overview {}",
    '"integrity": "sha512-q7Zr2Lk9Xw4Tb8Vn3Mc6Hj1Gf5Ds0PaYeUiOoq7Zr2Lk9Xw4Tb8Vn3Mc6Hj1Gf5Ds0PaYeUiOoq7Zr2Lk9XA=="',
    "3f9a1c7e5b2d8046e1f7a9c3b5d2084f6e9a1c7b",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\n<your key here>\n",
    "if (/^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(credential)) return true;",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n",
    "process.env.npm_package_version_of_the_current_project_x",
    "npm_config_registry npm_lifecycle_event",
    "import { glob } from 'glob'; glab-ci; glpat-",
    "1970-01-01T00:00:00:AAaa",
    "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=;",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  ];
  for (const text of texts) expect([text, rules(text)]).toEqual([text, []]);
});

test("hostile text takes linear time", () => {
  const texts = [
    "-----BEGIN PRIVATE KEY-----\n".repeat(40_000),
    "AAAAA-: \n".repeat(100_000),
    "sk-proj-".repeat(100_000),
    `aws_secret_key${" ".repeat(1_000_000)}`,
  ];
  for (const text of texts) findKeys(text);
});

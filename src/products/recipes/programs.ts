/** Recipes of coding agents. Sources: each program's own documentation of its variables and configuration file. */
import type { Recipe } from './recipe.ts'

const hello = 'Say hello.'
const json = (value: unknown): string => JSON.stringify(value, null, 2)

export const programRecipes: readonly Recipe[] = [
  {
    name: 'claude-code',
    title: 'Claude Code',
    install: 'npm install -g @anthropic-ai/claude-code',
    calls: '/v1/messages',
    model: 'anthropic/claude-sonnet-4-6',
    fill: ({ address, key, model }) => ({
      variables: [
        `export ANTHROPIC_BASE_URL=${address}`,
        `export ANTHROPIC_API_KEY=${key}`,
        `export ANTHROPIC_MODEL=${model}`,
        `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}`,
      ],
      first: `claude -p "${hello}"`,
    }),
    notes: [
      '`ANTHROPIC_DEFAULT_HAIKU_MODEL` is the model of its small tasks in the background, such as titles.',
      'With a model of another vendor set `CLAUDE_CODE_MAX_OUTPUT_TOKENS` to no more than that model can write.',
    ],
  },
  {
    name: 'codex',
    title: 'Codex CLI',
    install: 'npm install -g @openai/codex',
    calls: '/v1/responses',
    model: 'openai/gpt-4.1',
    fill: ({ address, key, model }) => ({
      variables: [`export TURNPIKE_KEY=${key}`],
      files: [
        {
          path: '~/.codex/config.toml',
          language: 'toml',
          text: [
            `model = "${model}"`,
            'model_provider = "turnpike"',
            '',
            '[model_providers.turnpike]',
            'name = "Turnpike"',
            `base_url = "${address}/v1"`,
            'env_key = "TURNPIKE_KEY"',
            'wire_api = "responses"',
          ].join('\n'),
        },
      ],
      first: `codex exec --skip-git-repo-check "${hello}"`,
    }),
  },
  {
    name: 'codex-socket',
    title: 'Codex CLI over a WebSocket',
    install: 'npm install -g @openai/codex',
    calls: '/v1/responses',
    model: 'openai/gpt-4.1',
    fill: ({ address, key, model }) => ({
      variables: [`echo ${key} | codex login --with-api-key`],
      files: [
        {
          path: '~/.codex/config.toml',
          language: 'toml',
          text: [`model = "${model}"`, `openai_base_url = "${address}/v1"`].join('\n'),
        },
      ],
      first: `codex exec --skip-git-repo-check "${hello}"`,
    }),
    notes: [
      'With its built-in provider it keeps one WebSocket open for the session, and sends only what is new in each turn.',
    ],
  },
  {
    name: 'gemini-cli',
    title: 'Gemini CLI',
    install: 'npm install -g @google/gemini-cli',
    calls: '/v1beta/models',
    model: 'google/gemini-2.5-flash',
    fill: ({ address, key, model }) => ({
      variables: [`export GOOGLE_GEMINI_BASE_URL=${address}`, `export GEMINI_API_KEY=${key}`],
      files: [
        {
          path: '~/.gemini/settings.json',
          language: 'json',
          text: json({ security: { auth: { selectedType: 'gemini-api-key' } } }),
        },
      ],
      first: `gemini --skip-trust -m ${model} -p "${hello}"`,
    }),
    notes: [
      'The settings file is needed: beside an address of its own the program does not choose a key by itself.',
    ],
  },
  {
    name: 'opencode',
    title: 'opencode',
    install: 'npm install -g opencode-ai',
    calls: '/v1/chat/completions',
    model: 'openai/gpt-4.1',
    fill: ({ address, key, model }) => ({
      variables: [`export TURNPIKE_KEY=${key}`],
      files: [
        {
          path: '~/.config/opencode/opencode.json',
          language: 'json',
          text: json({
            provider: {
              turnpike: {
                npm: '@ai-sdk/openai-compatible',
                name: 'Turnpike',
                options: { baseURL: `${address}/v1`, apiKey: '{env:TURNPIKE_KEY}' },
                models: { [model]: { name: model } },
              },
            },
          }),
        },
      ],
      first: `opencode run -m turnpike/${model} "${hello}"`,
    }),
  },
  {
    name: 'qwen-code',
    title: 'Qwen Code',
    install: 'npm install -g @qwen-code/qwen-code',
    calls: '/v1/chat/completions',
    model: 'openai/gpt-4.1',
    fill: ({ address, key, model }) => ({
      variables: [
        `export OPENAI_BASE_URL=${address}/v1`,
        `export OPENAI_API_KEY=${key}`,
        `export OPENAI_MODEL=${model}`,
      ],
      first: `qwen --auth-type openai "${hello}"`,
    }),
  },
  {
    name: 'cline',
    title: 'Cline',
    install: 'npm install -g cline',
    calls: '/v1/chat/completions',
    model: 'openai/gpt-4.1',
    fill: ({ address, key, model }) => ({
      variables: [`cline auth -p openai -b ${address}/v1 -k ${key} -m ${model}`],
      first: `cline "${hello}"`,
    }),
    notes: ['The editor’s extension takes the same under «OpenAI Compatible»: base URL, key and model id.'],
  },
  {
    name: 'continue',
    title: 'Continue',
    install: 'npm install -g @continuedev/cli',
    calls: '/v1/chat/completions',
    model: 'openai/gpt-4.1',
    fill: ({ address, key, model }) => ({
      variables: [],
      files: [
        {
          path: '~/.continue/config.yaml',
          language: 'yaml',
          text: [
            'name: Turnpike',
            'version: 1.0.0',
            'schema: v1',
            'models:',
            `  - name: ${model}`,
            '    provider: openai',
            `    model: ${model}`,
            `    apiBase: ${address}/v1`,
            `    apiKey: ${key}`,
            '    capabilities: [tool_use]',
          ].join('\n'),
        },
      ],
      first: `cn --config ~/.continue/config.yaml -p "${hello}"`,
    }),
  },
  {
    name: 'pi',
    title: 'pi',
    install: 'npm install -g @earendil-works/pi-coding-agent',
    calls: '/v1/chat/completions',
    model: 'openai/gpt-4.1',
    fill: ({ address, key, model }) => ({
      variables: [],
      files: [
        {
          path: '~/.pi/agent/models.json',
          language: 'json',
          text: json({
            providers: {
              turnpike: {
                baseUrl: `${address}/v1`,
                api: 'openai-completions',
                apiKey: key,
                models: [{ id: model }],
              },
            },
          }),
        },
      ],
      first: `pi -p --provider turnpike --model ${model} "${hello}"`,
    }),
    notes: [
      '`api` may also be `openai-responses`, `anthropic-messages` or `google-generative-ai`, each with any model.',
    ],
  },
]

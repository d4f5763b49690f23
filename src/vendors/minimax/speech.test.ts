/** What is asked of this vendor for sounds, and what each of its answers means. */
import { base } from '../../../test/vendor-answers/speech.ts'
import { testProducts } from '../../../test/vendor-media.ts'

testProducts([
  {
    id: 'minimax/speech-2.6-hd',
    inputs: { text: 'Hello.' },
    sent: {
      method: 'POST',
      path: '/t2a_v2',
      json: {
        model: 'speech-2.6-hd',
        text: 'Hello.',
        stream: false,
        voice_setting: { voice_id: 'English_expressive_narrator', speed: 1 },
        audio_setting: { format: 'mp3', sample_rate: 32_000 },
        output_format: 'hex',
      },
    },
    replies: [
      [
        'ok',
        {
          json: {
            data: { audio: '494433', status: 2 },
            extra_info: { usage_characters: 7 },
            base_resp: { status_code: 0 },
          },
        },
        { character: 7 },
      ],
      ['blocked', base(1026), 'blocked'],
      ['blocked result', base(1027), 'blocked'],
      ['bad request', base(2013), 'fault of inputs'],
      ['rate limit', base(1002), 'fault of vendor'],
      ['no credits', base(1008), 'fault of vendor'],
      ['no hex', { json: { data: { audio: 'xyz' }, base_resp: { status_code: 0 } } }, 'broken'],
    ],
  },
  {
    id: 'minimax/music-2.0',
    inputs: { prompt: 'calm piano', lyrics: '[verse]\nla la' },
    sent: {
      method: 'POST',
      path: '/music_generation',
      json: { model: 'music-2.0', prompt: 'calm piano', lyrics: '[verse]\nla la', output_format: 'url' },
    },
    replies: [
      [
        'ok',
        {
          json: {
            data: { audio: 'https://cdn.example.com/a.mp3' },
            extra_info: { music_duration: 61_000 },
            base_resp: { status_code: 0 },
          },
        },
        { song: 1 },
      ],
      ['blocked', base(1026), 'blocked'],
      ['no credits', base(1008), 'fault of vendor'],
      ['another address', { json: { data: { audio: 'file:///etc/passwd' } } }, 'broken'],
    ],
  },
])

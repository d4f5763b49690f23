/** Refusals in the words of a form. */
import { expect, test } from 'bun:test'
import { ApiError } from '../api.ts'
import { labelled } from './labelled.ts'

const error = (message: string) =>
  new ApiError(400, { message, code: 'invalid_parameter', request_id: 'request-1' })

test('a member is named as its field is, all else stays', () => {
  const labels = { alert_webhook_url: 'Where warnings go' }
  const shown = labelled(error("'alert_webhook_url' must begin with https://, not 'http'."), labels)
  expect(shown).toBeInstanceOf(ApiError)
  expect(shown).toMatchObject({
    message: "“Where warnings go” must begin with https://, not 'http'.",
    status: 400,
    code: 'invalid_parameter',
    requestId: 'request-1',
  })
  expect(labelled(error("'constructor' is no rule."), labels)).toMatchObject({
    message: "'constructor' is no rule.",
  })
  expect([labelled(null, labels), labelled(undefined, labels)]).toEqual([null, undefined])
})

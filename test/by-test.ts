/** Who acts where a test changes the store itself. */
import type { Actor } from '../src/store/people/event-port.ts'

export const byTest: Actor = { kind: 'command', id: 'test', name: 'a test' }

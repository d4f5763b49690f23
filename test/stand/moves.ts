/** An organisation moves from cell to cell while its callers call, and its source fails over in the middle. */
import { beginProgram, runProgram } from '../program.ts'
import type { Cell, Payer } from './cell.ts'
import type { Fault } from './fault.ts'

type Move = {
  readonly payer: Payer
  readonly from: Cell
  readonly to: Cell
  /** What the command has told when its source is struck. */
  readonly told: string
  readonly blow: Pick<Fault, 'name' | 'strike' | 'heal'>
}

const TRIES = 10

/** The command is run again until it says that all is done, as the runbook has it. */
export const movedWhile = ({ payer, from, to, told, blow }: Move): Fault => {
  const words = ['cell', 'move', payer.org, '--to', to.name, '--database', to.url] as const
  let code: Promise<number> | undefined
  let said = ''
  return {
    name: `${blow.name} of a source while an organisation moves (“${told}”)`,
    cells: [from, to],
    strike: async () => {
      const child = beginProgram(from.environment.HOME ?? '', from.environment, ...words)
      code = child.exited
      const reader = (child.stderr as ReadableStream<Uint8Array>).getReader()
      const read = async (enough: () => boolean): Promise<void> => {
        while (!enough()) {
          const { value, done } = await reader.read()
          if (done) return
          said += new TextDecoder().decode(value)
        }
      }
      await read(() => said.includes(told))
      void read(() => false)
      if (!said.includes(told)) throw new Error(`the move never told '${told}': ${said}`)
      await blow.strike()
    },
    heal: async () => {
      await blow.heal?.()
      if ((await code) === 0) return
      for (let tries = 0; tries < TRIES; tries++) {
        const again = await runProgram(from.environment.HOME ?? '', from.environment, ...words)
        // One that lost its connection may have done all before.
        if (again.code === 0 || again.errors.includes(`it is in the cell ${to.name}`)) return
        said += again.errors
        await Bun.sleep(1_000)
      }
      throw new Error(`the move was never finished: ${said}`)
    },
  }
}

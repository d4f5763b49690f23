/** Copies a text, and says for two seconds whether it could. */
import { useEffect, useState } from 'react'

const TOLD_MS = 2_000

/** Without a secure context there is no clipboard, only the browser's own act of copying, in which we say what is copied. */
const copiedByAct = (text: string): boolean => {
  const say = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
  }
  document.addEventListener('copy', say)
  const copied = document.execCommand('copy')
  document.removeEventListener('copy', say)
  return copied
}

const copied = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copiedByAct(text)
  }
}

export const useCopy = (text: string) => {
  const [told, setTold] = useState<string>()
  useEffect(() => {
    if (told === undefined) return
    const over = setTimeout(() => setTold(undefined), TOLD_MS)
    return () => clearTimeout(over)
  }, [told])
  const copy = async () =>
    setTold((await copied(text)) ? 'Copied' : 'The browser copies nothing: select the text instead')
  return { told, copy: () => void copy() }
}

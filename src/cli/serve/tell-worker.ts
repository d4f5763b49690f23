/** Messages of the parent to its workers. */

/**
 * False if the worker has ended, although its end is not known yet: then its channel throws, which must not end the parent
 * and with it all others.
 */
export const tellWorker = <Message>(
  worker: { send(message: Message): void },
  message: NoInfer<Message>,
): boolean => {
  try {
    worker.send(message)
    return true
  } catch {
    return false
  }
}

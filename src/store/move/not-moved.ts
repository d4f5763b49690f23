/** Why a ledger, or an organisation of it, was not moved. */
export class NotMoved extends Error {}

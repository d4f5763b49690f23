/** Check digits of numbers that people and keys have. Each function takes letters that its detector has found. */

const remainder = (digits: string, by: number): number => {
  let rest = 0
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % by
  return rest
}

/** Cards: ISO/IEC 7812-1, annex B. */
export const luhn = (digits: string): boolean => {
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]) * (at % 2 === 0 ? 1 : 2)
    sum += digit > 9 ? digit - 9 : digit
  }
  return sum % 10 === 0
}

/** IBAN: ISO 13616, by mod 97-10 of ISO/IEC 7064. */
export const iban = (text: string): boolean => {
  const moved = text.slice(4) + text.slice(0, 4)
  return (
    remainder(
      moved.replace(/[A-Z]/g, (letter) => String(letter.charCodeAt(0) - 55)),
      97,
    ) === 1
  )
}

/** The letter of a Spanish DNI or NIE; X, Y and Z stand for 0, 1 and 2. */
export const spanish = (text: string): boolean => {
  const digits = text.slice(0, -1).replace(/^[XYZ]/, (letter) => String('XYZ'.indexOf(letter)))
  return 'TRWAGMYFPDXBNJZSQVHLCKE'[Number(digits) % 23] === text.at(-1)
}

/** What a letter or digit counts at odd places of an Italian codice fiscale, from 0 or A on. */
const ODD = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]

export const codiceFiscale = (text: string): boolean => {
  let sum = 0
  for (let at = 0; at < 15; at++) {
    const code = text.charCodeAt(at)
    const value = code < 58 ? code - 48 : code - 65
    sum += at % 2 === 0 ? (ODD[value] ?? 0) : value
  }
  return String.fromCharCode(65 + (sum % 26)) === text[15]
}

/** The French NIR; the departments of Corsica, 2A and 2B, count as 19 and 18. */
export const nir = (text: string): boolean => {
  const digits = text.slice(0, 13).replace('2A', '19').replace('2B', '18')
  return 97 - remainder(digits, 97) === Number(text.slice(13))
}

/** The Brazilian CPF; a number of one digit repeated is none. */
export const cpf = (text: string): boolean => {
  if (text === text[0]?.repeat(11)) return false
  const check = (length: number): number => {
    let sum = 0
    for (let at = 0; at < length; at++) sum += Number(text[at]) * (length + 1 - at)
    return ((sum * 10) % 11) % 10
  }
  return check(9) === Number(text[9]) && check(10) === Number(text[10])
}

/** The German tax id: ISO/IEC 7064, mod 11,10; among its first ten digits one occurs twice or three times. */
export const germanTaxId = (text: string): boolean => {
  if (text[0] === '0' || ![8, 9].includes(new Set(text.slice(0, 10)).size)) return false
  let product = 10
  for (const digit of text.slice(0, 10)) {
    const sum = (Number(digit) + product) % 10
    product = ((sum === 0 ? 10 : sum) * 2) % 11
  }
  return (11 - product) % 10 === Number(text[10])
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** GitHub's tokens end in the CRC-32 of their random part, in six digits to the base of 62. */
export const gitHub = (token: string): boolean => {
  let value = Bun.hash.crc32(token.slice(4, -6))
  let check = ''
  for (let at = 0; at < 6; at++) {
    check = `${BASE62[value % 62]}${check}`
    value = Math.floor(value / 62)
  }
  return token.endsWith(check)
}

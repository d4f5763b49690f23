/** A QR code, drawn as one path. Dark on light in both schemes, because not every reader knows the other way. */
import qrcode from 'qrcode-generator'

/** The empty border that readers need, and the width of a module in pixels. */
const [BORDER, MODULE] = [4, 5]

export const QrCode = ({ text, name }: { text: string; name: string }) => {
  // Zero chooses the smallest version that holds the text.
  const code = qrcode(0, 'M')
  code.addData(text)
  code.make()
  const count = code.getModuleCount()
  const all = Array.from({ length: count }, (_, at) => at)
  const dark = all.flatMap((row) =>
    all.flatMap((column) => (code.isDark(row, column) ? [`M${column} ${row}h1v1h-1z`] : [])),
  )
  const size = count + 2 * BORDER
  return (
    <svg
      role="img"
      aria-label={name}
      className="qr-code"
      width={size * MODULE}
      height={size * MODULE}
      viewBox={`${-BORDER} ${-BORDER} ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <path d={dark.join('')} />
    </svg>
  )
}

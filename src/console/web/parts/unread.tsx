/** What stands where nothing can be shown: it is still being read, it is not there, or reading failed. */
import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { ApiError } from './api.ts'
import { Failed, Loading, PageHead } from './ui.tsx'

export const NotFound = () => (
  <>
    <PageHead title="Not found" about="There is nothing at this address, or it is not yours." />
    <Button component={Link} to="/" variant="default">
      To the overview
    </Button>
  </>
)

/** In place of something that is still read, or that could not be. */
export const Unread = ({ error, rows = 6 }: { error: unknown; rows?: number }) =>
  error === null ? <Loading rows={rows} /> : <Failed error={error} />

/** The same for a whole page that is about one thing: that may not be there. */
export const UnreadPage = ({ error }: { error: unknown }) =>
  error instanceof ApiError && error.status === 404 ? <NotFound /> : <Unread error={error} />

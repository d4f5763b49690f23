/** /api/reviews: accounts' opinions of a skill, which is a model or a tool, by its name. */
import { storable } from '../../core/storable.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Review } from '../../store/accounts/community-port.ts'
import { json } from '../answer/reply.ts'
import { accountOf, callerOf } from '../request/caller.ts'
import type { BodyHandler } from '../request/with-body.ts'
import type { Handler } from '../route/route.ts'
import { type NewReview, SKILL, wrongReview } from '../schema/account-bodies.ts'

export const postReview: BodyHandler<NewReview> = async (gateway, call, body) => {
  const key = await accountOf(gateway, call)
  const { skill, rating, comment } = await body()
  const review = await gateway.store.community.putReview({
    id: `rev_${gateway.newCallId().replaceAll('-', '')}`,
    skill,
    orgId: key.orgId,
    rating,
    ...(comment === undefined ? {} : { comment: storable(comment) }),
  })
  return json(shown(review), 201)
}

export const getReviews: Handler = async (gateway: Gateway, call) => {
  await callerOf(gateway, call)
  const skill = new URLSearchParams(call.query).get('skill') ?? ''
  if (!SKILL.test(skill)) throw wrongReview(new Set(['skill']))
  const { count, sum, newest } = await gateway.store.community.reviews(skill)
  return json({
    skill,
    count,
    average: count === 0 ? null : Math.round((sum * 100) / count) / 100,
    reviews: newest.map(shown),
  })
}

const shown = ({ id, skill, rating, comment, createdAt }: Review) => ({
  id,
  skill,
  rating,
  comment: comment ?? null,
  created_at: new Date(createdAt).toISOString(),
})

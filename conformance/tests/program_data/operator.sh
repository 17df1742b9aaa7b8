# operator (SPEC N): one operator of a model's step on .npy files.

index() { npy write "$1" '<u4' "$2" "${@:3}"; }
floats() { npy write "$1" '<f4' "$2" "${@:3}"; }
halves() { npy write "$1" '<u2' "$2" "${@:3}"; }
bits() { npy bits "$1"; }

shows operator_lists_them '^route +a router.s choice +N8 N9 N10$' operator
shows operator_lists_arguments '^  experts= +index +output$' operator route
# Sigmoid keeps the order: 3 and 2 of logits 1, 2, 3; ties to the lower index.
floats z.npy 2x3 1 2 3 1 1 1
shows the_example_of_its_help_works '^e.npy: index 2 x 2$' \
  operator route logits=z.npy top=2 experts=e.npy weights=w.npy
is route_orders_experts '<u4 2x2 00000002 00000001 00000000 00000001' \
  "$(bits e.npy)"
# Equal scores: shares of a half.
is route_shares_the_weight '3f000000 3f000000' "$(bits w.npy | cut -d' ' -f5,6)"
# N13: rows of experts 0 to 2, padded to 2.
shows operator_plan_works '^slots.npy: index 2 x 2$' operator plan \
  experts=e.npy count=3 align=2 rows=rows.npy slots=slots.npy ends=ends.npy
is plan_has_the_slots '<u4 2x2 00000004 00000002 00000000 00000003' \
  "$(bits slots.npy)"
is plan_has_the_ends '<u4 4x1 00000000 00000002 00000004 00000006' \
  "$(bits ends.npy)"
# N6: the first token sees itself alone: its output is its value. Two equal
# scores: the mean of 1 and 3.
halves q.npy 2x16 0
halves v.npy 2x1 0x3f80 0x4040
shows operator_attention_works '^o.npy: bf16 2 x 1$' \
  operator attention q=q.npy k=q.npy v=v.npy o=o.npy largest=m.npy inverse=r.npy
is attention_takes_means '<u2 2x1 3f80 4000' "$(bits o.npy)"
# N7, with dO = 1: P is 1, then halves; D is O; dV is the sum of P.
halves d_o.npy 2x1 0x3f80
floats kept.npy 2x1 1 2
shows operator_attention_backward_works '^dv.npy: bf16 2 x 1$' \
  operator attention_backward q=q.npy k=q.npy v=v.npy o=kept.npy largest=m.npy \
  inverse=r.npy d_o=d_o.npy dv=dv.npy
is attention_backward_adds_shares '<u2 2x1 3fc0 3f00' "$(bits dv.npy)"
# N4: the first position turns nothing.
halves x.npy 1x4 0x3f80 0x4000 0x4040 0x4080
prints operator_rope_works 'y.npy: bf16 1 x 4' operator rope x=x.npy y=y.npy
is rope_turns_nothing_at_0 '<u2 1x4 3f80 4000 4040 4080' "$(bits y.npy)"
# N27: of one token both orders give c W_v^T.
halves lq.npy 1x2 0x3f80
halves latent.npy 1x1 0x4000
halves up.npy 2x1 0x3f80 0x4040
halves rope.npy 1x1 0x3f80
for order in unabsorbed absorbed; do
  prints "operator_mla_works_$order" 'o.npy: bf16 1 x 1' operator mla q=lq.npy \
    latent=latent.npy rope_key=rope.npy up=up.npy order=$order o=o.npy
  is "mla_has_the_value_$order" '<u2 1x1 40c0' "$(bits o.npy)"
done
# N15: log 2 of two equal logits.
floats pair.npy 1x2 5
index target.npy 1 1
prints operator_cross_entropy_works 'l.npy: fp32 1 x 1' \
  operator cross_entropy logits=pair.npy targets=target.npy losses=l.npy
is cross_entropy_is_log_2 '<f4 1x1 3f317218' "$(bits l.npy)"
floats three.npy 1x2 3 4
prints operator_gradient_norm_works 'norm 5 (4014000000000000)' \
  operator gradient_norm gradients=three.npy
# N28: a sum of one is it, whatever it is; 2^24 + 1 + 1 by two orders.
floats zero.npy 1x1 -0.0
prints operator_accumulate_works 's.npy: fp32 1 x 1' \
  operator accumulate gradients=zero.npy sum=s.npy
is accumulate_keeps_one '<f4 1x1 80000000' "$(bits s.npy)"
floats big.npy 1x1 16777216
floats one.npy 1x1 1
index order.npy 1x3 1 2 0
run 0 operator accumulate gradients=big.npy,one.npy,one.npy sum=s.npy
is accumulate_takes_them_in_order '<f4 1x1 4b800000' "$(bits s.npy)"
run 0 operator accumulate gradients=big.npy,one.npy,one.npy order=order.npy sum=s.npy
is accumulate_takes_another_order '<f4 1x1 4b800001' "$(bits s.npy)"
shows operator_dual_pipe_works '^steps.npy: index 24 x 3$' operator dual_pipe \
  stages=4 micro_batches=8 rank=1 steps=steps.npy order=pipe.npy
is dual_pipe_has_an_order \
  '<u4 2x4 00000000 00000001 00000002 00000003 00000004 00000005 00000006 00000007' \
  "$(bits pipe.npy)"
# N29: expert 1 has replicas 1 and 2, which tokens take in turn.
index chosen.npy 4 1
index whose.npy 3 0 1 3
prints operator_choose_replicas_works 'c.npy: index 4 x 1' \
  operator choose_replicas experts=chosen.npy ends=whose.npy replicas=c.npy
is tokens_take_replicas_in_turn '<u4 4x1 00000001 00000002 00000001 00000002' \
  "$(bits c.npy)"
# N30: 2 * 1 - 1 * 1 of two heads, of which relu keeps the first.
npy write iq.npy '|u1' 1x2 0x38 0xb8
npy write ik.npy '|u1' 1x1 0x38
floats twos.npy 1x2 2 1
floats ones.npy 1x2 1
floats unit.npy 1 1
prints operator_indexer_logits_works 'i.npy: fp32 1 x 1' operator \
  indexer_logits q=iq.npy k=ik.npy q_scales=ones.npy k_scales=unit.npy \
  weights=twos.npy logits=i.npy
is the_indexer_drops_what_is_negative '<f4 1x1 40000000' "$(bits i.npy)"
floats ties.npy 1x4 1 2 1 1
floats many.npy 4096x4 1
shows operator_indexer_keys_works '^ties decide for 1 of 1 queries$' \
  operator indexer_keys logits=ties.npy top=2 first=3 keys=keys.npy ties=t.npy
is ties_go_to_the_lower_index '<u4 1x2 00000000 00000001' "$(bits keys.npy)"
is ties_are_counted '<u4 1x1 00000002' "$(bits t.npy)"
# N31: what is predicted, a token later.
index targets.npy 3 7 8 9
shows operator_mtp_tokens_works '^p.npy: index 3 x 1$' \
  operator mtp_tokens targets=targets.npy predictions=p.npy
is mtp_predicts_the_next '<u4 3x1 00000008 00000009 ffffffff' "$(bits p.npy)"
# The definition itself gives the same.
run 0 operator route logits=z.npy top=2 weights=w2.npy --reference
holds operator_reference_is_the_same cmp w.npy w2.npy

refuses an_operator_that_is_near_is_named \
  "no operator 'ruote': did you mean 'route'[?]" operator ruote a=b
refuses an_argument_that_is_near_is_named \
  "route has no argument 'logit': did you mean 'logits'[?]" \
  operator route logit=z.npy top=2
refuses an_argument_without_a_value_is_refused 'top= has no value' \
  operator route logits=z.npy top=
refuses a_word_is_no_argument '^zeroulp: z.npy: use NAME=FILE.npy' \
  operator route z.npy
refuses an_argument_may_be_given_once 'top= is given twice' \
  operator route logits=z.npy top=2 top=2
refuses what_an_operator_needs_is_named '^zeroulp: route needs top=' \
  operator route logits=z.npy
refuses a_count_is_a_number "top=two: use a whole number" \
  operator route logits=z.npy top=two
refuses a_choice_is_one_of_its_words "score=relu: use one of sigmoid, softmax" \
  operator route logits=z.npy top=2 score=relu
refuses a_factor_is_a_number 'scale: .*many' \
  operator route logits=z.npy top=2 scale=many
refuses a_file_that_is_absent_is_named 'absent.npy' \
  operator route logits=absent.npy top=2
refuses elements_of_another_type_are_refused \
  'logits=x.npy: elements are <u2: use float32' operator route logits=x.npy top=2
floats cube.npy 2x2x2 1
refuses three_dimensions_are_refused '3 dimensions: use a matrix' \
  operator route logits=cube.npy top=2
rm -f bad.npy
refuses experts_fewer_than_the_top_are_refused '3 experts in 1 groups' \
  operator route logits=z.npy top=4 experts=bad.npy
holds nothing_is_half_written test ! -e bad.npy
refuses heads_that_do_not_fit_are_refused 'q: columns: 16, but 3 heads' \
  operator attention q=q.npy k=q.npy v=v.npy heads=3 o=bad.npy
refuses keys_of_another_shape_are_refused 'attention, k: 2 x 1' \
  operator attention q=q.npy k=v.npy v=v.npy o=bad.npy
refuses an_expert_that_is_none_is_refused 'experts \(0, 0\): 2, but 0 to 1' \
  operator plan experts=e.npy count=2 rows=bad.npy
refuses odd_stages_are_refused '3 stages, 8 micro-batches' \
  operator dual_pipe stages=3 micro_batches=8 order=bad.npy
refuses an_output_beyond_memory_is_refused 'GiB of memory' \
  operator indexer_keys logits=many.npy top=2147483647 keys=bad.npy
refuses an_output_that_cannot_be_written_is_named 'no/such' \
  operator route logits=z.npy top=2 weights=no/such.npy
holds nothing_was_written test ! -e bad.npy

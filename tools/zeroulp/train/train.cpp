// zeroulp train: a model of DeepSeek's kind on the CPU or a GPU, every operator
// by its clause; losses and the digest of the state at each step.

#include <memory>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/train/audit.hpp"
#include "tools/zeroulp/train/campaign.hpp"
#include "tools/zeroulp/train/report.hpp"
#include "tools/zeroulp/train/run.hpp"
#include "tools/zeroulp/train/settings_json.hpp"

namespace zeroulp::program {
namespace {

/// All that the command may be asked.
struct train_request {
  train_options run;
  audit_request audit;
  report_request report;
  campaign_request campaign;
};

int answer(train_request& q) {
  if (!q.campaign.plan.empty()) return run_campaign(q.campaign, q.run);
  if (!q.report.runs.empty()) {
    q.report.plan = q.run.plan;
    q.report.out = q.run.out;
    return run_report(q.report);
  }
  if (q.audit.run.empty()) return run_training(q.run);
  q.audit.data = q.run.data;
  q.audit.digests = q.run.digests;
  q.audit.compare = q.run.compare;
  return run_audit(q.audit);
}

}  // namespace

void add_train(cli::app& app, outcome& out) {
  const auto q = std::make_shared<train_request>();
  train_options* const o = &q->run;
  cli::app* const command = add_command(
      app, "train",
      "Train a small model of DeepSeek's kind, every operator to the bit",
      "zeroulp train --size T --arm full --steps 5");
  command->add_option("--size", o->size, size_help())->capture_default_str();
  command->add_option("--arm", o->arm, arm_help())->capture_default_str();
  command
      ->add_option("--on", o->on,
                   "cpu, gpu, or gpu:N, the shards over N GPUs: the same bits")
      ->capture_default_str();
  command->add_option(
      "--data", o->data,
      "A file of bytes; without one, a source of known entropy");
  command->add_option("--steps", o->steps, "Steps")->capture_default_str();
  command
      ->add_option("--shards", o->shards,
                   "A power of two: gradients of shards are added as a tree")
      ->capture_default_str();
  command->add_option("--rate", o->rate,
                      "Of learning; 3e-3 at width 256, else 6e-4");
  command->add_option("--warmup", o->warmup, "Steps of a growing rate")
      ->capture_default_str();
  command->add_option("--hold", o->hold,
                      "The step from which the rate decays; three quarters "
                      "of them");
  command->add_option("--last", o->last, "Share of the rate at the last step")
      ->capture_default_str();
  command->add_option("--clip", o->clip, "Norm of gradients to clip at")
      ->capture_default_str();
  command
      ->add_option("--held-out", o->held_out,
                   "Batches of the loss at the end that no step sees")
      ->capture_default_str();
  command->add_option("--held-out-by", o->held_out_by,
                      "Arms that compute that loss besides the run's own");
  command->add_option("--out", o->out,
                      "A folder for the run: it goes on from there");
  command
      ->add_option("--every", o->every,
                   "Steps between checkpoints in --out; 0: those of --keep "
                   "alone")
      ->capture_default_str();
  command
      ->add_option("--digest-every", o->digest_every,
                   "Steps between SHA-256s of the state")
      ->capture_default_str();
  command->add_option("--digests", o->digests,
                      "CSV of the SHA-256 of every tensor of every step");
  command->add_option("--compare", o->compare,
                      "Such a CSV: the first tensor that differs is named, "
                      "exit status 1");
  command->add_option("--trace", o->trace,
                      "With --on gpu: a table of the kernels of a step, and "
                      "this file of them, JSON for Perfetto");
  command->add_option("--keep", o->keep,
                      "Steps whose checkpoints stay in --out, for --audit");
  command->add_option("--first-arm", o->first_arm,
                      "The arm of the first steps, before --arm begins");
  command->add_option("--first-steps", o->first_steps, "How many steps it has");
  command->add_option("--from", o->from,
                      "The folder of a run of --first-arm with the same "
                      "settings, whose checkpoint of that step was kept: they "
                      "are not made again");
  command->add_option("--plan", o->plan,
                      "A file whose SHA-256 stands in the receipt");
  add_seed(command, o->seed, "of the weights and of the order of data");
  add_audit(command, q->audit);
  add_report(command, q->report);
  add_campaign(command, q->campaign);
  add_reference(command);
  command->callback([q, &out] { out.status = answer(*q); });
}

}  // namespace zeroulp::program
